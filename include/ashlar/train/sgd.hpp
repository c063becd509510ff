// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The optimizer stochastic gradient descent with momentum:
//
//   train::sgd{.lr = 0.1, .momentum = 0.9}
//
// Weight decay is an L2 penalty: weight_decay times the weight is added to the gradient, and so
// weight decay enters the momentum. In AdamW (adam_w.hpp), weight decay does not enter the moments.
// The optimizer stores one value per parameter element, its velocity.
//
// Without momentum and weight decay, rows whose gradient is zero stay as they are. In this case, a
// gradient may be in rows, and an update reads and changes only the rows that have a gradient.

#include <cassert>
#include <cstdint>

#include <ashlar/train/optimizer.hpp>

namespace ashlar::train {

template <class T>
class sgd_state;

struct sgd {
  double lr = 1e-2;
  double momentum = 0;
  double weight_decay = 0;

  static constexpr int states = 1;

  template <class T>
  using state = sgd_state<T>;

  /// Returns why gradients cannot be in rows, or null if they can (optimizer.hpp).
  char const* rows_fault() const {
    return momentum == 0 && weight_decay == 0
               ? nullptr
               : "momentum and weight decay change all rows. Set momentum and weight_decay of "
                 "train::sgd to 0, or let the plan keep the gradient as a tensor.";
  }
  /// Throws ashlar::error if an option has an invalid value.
  void check() const {
    require_option("sgd", "lr", lr, 0);
    require_option("sgd", "momentum", momentum, 0);
    require_option("sgd", "weight_decay", weight_decay, 0);
  }
};

template <class T>
class sgd_state {
 public:
  explicit sgd_state(sgd const& options) : options_(options) {}

  template <class Parameter>
  void update(std::size_t index, std::int64_t, Parameter& p, update_scale scale) {
    device::sgd_factors f;
    f.lr = options_.lr * scale.rate;
    f.momentum = options_.momentum;
    f.weight_decay = p.decays() ? options_.weight_decay : 0;
    f.gradient_scale = scale.clip;
    auto const shards = p.template shards<T>();
    if (auto const* const in_rows = p.rows()) {
      assert(shards.copy == nullptr);  // rows exist on the host, which has no copy in bfloat16
      auto const& rows = in_rows->template gradient<T>();
      std::vector<T> velocity(static_cast<std::size_t>(rows.columns));  // unused: momentum is 0
      for (std::int64_t i = 0; i < rows.size(); ++i)
        sgd_update(p.processor(), f, rows.row(i), rows.columns, velocity.data(),
                   shards.value + rows.id(i) * rows.columns, shards.copy);
      return;
    }
    T* const velocity = velocity_.of(index, p);
    sgd_update(p.processor(), f, shards.gradient, shards.elements, velocity, shards.value,
               shards.copy);
  }

  /// Calls f(name, shard) for each array of parameter p's state (optimizer.hpp).
  template <class Parameter, class F>
  void for_each_array(std::size_t index, Parameter const& p, F f) {
    f("velocity", velocity_.of(index, p));
  }

 private:
  sgd options_;
  optimizer_memory<T, sgd::states> velocity_;
};

}  // namespace ashlar::train
