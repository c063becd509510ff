// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels that update parameters in one pass over the arrays, with the formulas of
// formula/update.hpp.
//
//   adam_w_update   gradient of type G; moments and weight of type W, float or double
//   sgd_update      gradient of type G; velocity and weight of type W
//
// If `copy` is not null, the weight is a float master weight. Then the new weight is also rounded
// to bfloat16 into `copy`, which the next forward pass reads.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/device/formula/update.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

namespace detail {

template <class G, class W>
struct adam_w_each {
  device::adam_w_rule<W> rule;
  G const* gradient;
  W* first;
  W* second;
  W* weight;
  bfloat16* copy;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    auto const g = load<Width>(gradient + i);
    auto m = load<Width>(first + i);
    auto v = load<Width>(second + i);
    auto w = load<Width>(weight + i);
    for (int k = 0; k < Width; ++k)
      w.at[k] = rule(static_cast<W>(g.at[k]), m.at[k], v.at[k], w.at[k]);
    store<Width>(first + i, m);
    store<Width>(second + i, v);
    store<Width>(weight + i, w);
    if (copy == nullptr) return;
    pack<bfloat16, Width> rounded;
    for (int k = 0; k < Width; ++k) rounded.at[k] = bfloat16(w.at[k]);
    store<Width>(copy + i, rounded);
  }
};

template <class G, class W>
struct sgd_each {
  device::sgd_rule<W> rule;
  G const* gradient;
  W* velocity;
  W* weight;
  bfloat16* copy;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    auto const g = load<Width>(gradient + i);
    auto u = load<Width>(velocity + i);
    auto w = load<Width>(weight + i);
    for (int k = 0; k < Width; ++k) w.at[k] = rule(static_cast<W>(g.at[k]), u.at[k], w.at[k]);
    store<Width>(velocity + i, u);
    store<Width>(weight + i, w);
    if (copy == nullptr) return;
    pack<bfloat16, Width> rounded;
    for (int k = 0; k < Width; ++k) rounded.at[k] = bfloat16(w.at[k]);
    store<Width>(copy + i, rounded);
  }
};

}  // namespace detail

template <launcher Launcher, class G, class W>
void adam_w_update(Launcher const& launch, device::adam_w_factors const& factors, G const* gradient,
                   std::int64_t count, W* first, W* second, W* weight, bfloat16* copy = nullptr) {
  detail::adam_w_each<G, W> const each{
      device::adam_w_rule<W>(factors), gradient, first, second, weight, copy};
  launch_packed<W>(launch, "adam_w_update", each, count,
                   is_packable(gradient) && is_packable(first, second, weight) &&
                       is_packable(copy));
}

template <launcher Launcher, class G, class W>
void sgd_update(Launcher const& launch, device::sgd_factors const& factors, G const* gradient,
                std::int64_t count, W* velocity, W* weight, bfloat16* copy = nullptr) {
  detail::sgd_each<G, W> const each{device::sgd_rule<W>(factors), gradient, velocity, weight, copy};
  launch_packed<W>(launch, "sgd_update", each, count,
                   is_packable(gradient) && is_packable(velocity, weight) && is_packable(copy));
}

}  // namespace ashlar::cuda
