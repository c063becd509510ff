// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The optimizer AdamW (Loshchilov and Hutter 2019):
//
//   train::adam_w{.lr = 3e-4, .weight_decay = 0.1}
//
// AdamW stores two values per parameter element. An update of a parameter is one fused pass over
// this rank's shard of it.
//
// A training may begin with exact gradients (plan::plain_steps), and later send each gradient in
// one bit per element, or only its largest elements, or the first moment (sent_gradient.hpp). The
// second moment then stays as the exact gradients have left it, as in 1-bit Adam (Tang et al.
// 2021). If the second moment of an element is still zero, an update sets it so that its
// bias-corrected value is the square of the gradient of this update. An average of gradients that
// was sent becomes the first moment, multiplied by 1 - beta1^t in update t. So a later update
// without such wires can correct the bias as usual.

#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

#include <ashlar/train/optimizer.hpp>

namespace ashlar::train {

template <class T>
class adam_w_state;

struct adam_w {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.01;

  static constexpr int states = 2;  ///< the number of values stored per parameter element

  template <class T>
  using state = adam_w_state<T>;

  /// Returns why gradients cannot be in rows (optimizer.hpp).
  char const* rows_fault() const {
    return "AdamW changes all rows of a parameter in every step. Use train::adam_w_rows, which is "
           "another optimizer: it changes only the rows with a gradient.";
  }
  /// Returns the beta of the first moment, for wires that send it (optimizer.hpp).
  double wire_momentum() const { return beta1; }
  /// Throws ashlar::error if an option has an invalid value.
  void check() const {
    require_option("adam_w", "lr", lr, 0);
    require_option("adam_w", "beta1", beta1, 0, 1);
    require_option("adam_w", "beta2", beta2, 0, 1);
    // If all gradients of an element were zero, its update is divided by epsilon alone. So epsilon
    // must not become zero when it is converted to float.
    require_option("adam_w", "epsilon", epsilon, std::numeric_limits<float>::min());
    require_option("adam_w", "weight_decay", weight_decay, 0);
  }
};

template <class T>
class adam_w_state {
 public:
  explicit adam_w_state(adam_w const& options) : options_(options) {}

  /// Updates parameter p. `index` is the number of the parameter, which must be the same in every
  /// step. `step` is the number of the update, counted from 1 (optimizer.hpp).
  template <class Parameter>
  void update(std::size_t index, std::int64_t step, Parameter& p, update_scale scale) {
    auto const shards = p.template shards<T>();
    T* const moments = moments_.of(index, p);
    adam_w_update(p.processor(), factors(step, p.decays(), scale), shards.gradient, shards.elements,
                  moments, moments + shards.elements, shards.value, shards.copy);
  }

  /// Updates the rows of p that have a gradient, and their moments. Expects a gradient in rows.
  template <class Parameter>
  void update_rows(std::size_t index, std::int64_t step, Parameter& p, update_scale scale) {
    auto const shards = p.template shards<T>();
    T* const moments = moments_.of(index, p);
    auto const& rows = p.rows()->template gradient<T>();
    auto const f = factors(step, p.decays(), scale);
    assert(shards.copy == nullptr);  // rows exist on the host, which has no copy in bfloat16
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      T* const first = moments + rows.id(i) * rows.columns;
      adam_w_update(p.processor(), f, rows.row(i), rows.columns, first, first + shards.elements,
                    shards.value + rows.id(i) * rows.columns, shards.copy);
    }
  }

  /// Calls f(name, shard) for each array of parameter p's state (optimizer.hpp).
  template <class Parameter, class F>
  void for_each_array(std::size_t index, Parameter const& p, F f) {
    T* const moments = moments_.of(index, p);
    f("first_moment", moments);
    f("second_moment", moments + p.value().local_elements());
  }

 private:
  device::adam_w_factors factors(std::int64_t step, bool decays, update_scale scale) const {
    device::adam_w_factors f;
    f.lr = options_.lr * scale.rate;
    f.beta1 = options_.beta1;
    f.sets_first = scale.is_momentum;
    f.beta2 = options_.beta2;
    f.keeps_second = scale.keeps_squares;
    f.epsilon = options_.epsilon;
    f.weight_decay = decays ? options_.weight_decay : 0;
    f.correction1 = 1 - std::pow(f.beta1, static_cast<double>(step));
    auto const squares = scale.squares < 0 ? step : scale.squares;
    f.correction2 = 1 - std::pow(options_.beta2, static_cast<double>(squares));
    f.gradient_scale = scale.clip;
    return f;
  }

  adam_w options_;
  optimizer_memory<T, adam_w::states> moments_;
};

}  // namespace ashlar::train
