// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The parameter updates of AdamW and of SGD with momentum, each in one pass over the arrays. The
// formulas are in device/formula/update.hpp.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/update.hpp>

namespace ashlar::device::host {

using device::adam_w_factors;
using device::sgd_factors;

/// Updates `count` weights and their first and second moments by AdamW. The arrays must be
/// disjoint.
template <class T>
void adam_w_update(adam_w_factors const& factors, T const* ASHLAR_RESTRICT gradient,
                   std::int64_t count, T* ASHLAR_RESTRICT first, T* ASHLAR_RESTRICT second,
                   T* ASHLAR_RESTRICT weight) {
  adam_w_rule<T> const rule(factors);
  ASHLAR_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) {
    T m = first[i];
    T v = second[i];
    weight[i] = rule(gradient[i], m, v, weight[i]);
    first[i] = m;
    second[i] = v;
  }
}

/// Updates `count` weights and their velocities by SGD with momentum. The arrays must be disjoint.
template <class T>
void sgd_update(sgd_factors const& factors, T const* ASHLAR_RESTRICT gradient, std::int64_t count,
                T* ASHLAR_RESTRICT velocity, T* ASHLAR_RESTRICT weight) {
  sgd_rule<T> const rule(factors);
  ASHLAR_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) {
    T u = velocity[i];
    weight[i] = rule(gradient[i], u, weight[i]);
    velocity[i] = u;
  }
}

}  // namespace ashlar::device::host
