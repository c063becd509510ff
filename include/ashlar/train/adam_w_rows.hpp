// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The optimizer AdamW for gradients in rows (nn/gradient_rows.hpp), which is known as lazy Adam:
//
//   train::adam_w_rows{.lr = 3e-4}
//
// It is another optimizer than AdamW. A step applies the rule of AdamW only to the rows that have a
// gradient, and to the moments of these rows. All other rows and their moments stay as they are,
// while AdamW would go on changing them by their moments and weight decay. So results differ from
// those of train::adam_w unless every step reads every row. The bias corrections count the steps of
// the training, and not those of a row. Parameters whose gradients are tensors are updated as by
// train::adam_w.

#include <ashlar/train/adam_w.hpp>

namespace ashlar::train {

template <class T>
class adam_w_rows_state;

/// The options are those of adam_w.
struct adam_w_rows {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.01;

  static constexpr int states = adam_w::states;

  template <class T>
  using state = adam_w_rows_state<T>;

  adam_w rule() const { return {lr, beta1, beta2, epsilon, weight_decay}; }
  /// Returns null: gradients can be in rows (optimizer.hpp).
  char const* rows_fault() const { return nullptr; }
  /// Returns the beta of the first moment, for wires that send it (optimizer.hpp).
  double wire_momentum() const { return beta1; }
  /// Throws ashlar::error if an option has an invalid value.
  void check() const { rule().check(); }
};

template <class T>
class adam_w_rows_state {
 public:
  explicit adam_w_rows_state(adam_w_rows const& options) : rule_(options.rule()) {}

  /// Updates parameter p. If its gradient is in rows, updates only these rows of p. The arguments
  /// are those of adam_w_state::update.
  template <class Parameter>
  void update(std::size_t index, std::int64_t step, Parameter& p, update_scale scale) {
    if (p.rows() != nullptr) rule_.update_rows(index, step, p, scale);
    else rule_.update(index, step, p, scale);
  }

  /// Calls f(name, shard) for each array of parameter p's state (optimizer.hpp).
  template <class Parameter, class F>
  void for_each_array(std::size_t index, Parameter const& p, F f) {
    rule_.for_each_array(index, p, f);
  }

 private:
  adam_w_state<T> rule_;
};

}  // namespace ashlar::train
