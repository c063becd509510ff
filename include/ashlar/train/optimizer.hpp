// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The requirements on an optimizer. An optimizer is a struct of options, whose values a program
// sets. It has a member template `state`, which is the class of the optimizer state. The trainer
// holds an object of this class.
//
//   struct my_optimizer { void check() const;  static constexpr int states;
//                         template <class T> using state = …; };
//   state(my_optimizer const&)                     constructs the state from the options
//   state.update(index, step, parameter, scale)
//   state.for_each_array(index, parameter, f)      calls f(name, shard) for each stored array
//
// A gradient may be in rows (nn/gradient_rows.hpp): parameter.rows() is then not null and has the
// rows of this step. Only an optimizer that has a member rows_fault() const gets such parameters.
// This function returns null, or a reason why the options do not allow gradients in rows.
//
// An optimizer with a member wire_momentum() const, the beta of its first moment, lets wires send
// the momentum of gradients (plan/wire.hpp). Updates then have scale.is_momentum.
//
//   check()     optional: throws ashlar::error if an option has an invalid value (require_option)
//   states      the number of values stored per parameter element
//   T           the type of the stored values
//   index       the number of the parameter, the same in every step
//   step        the number of the update, counted from 1; if gradients are delayed, this is the
//               number of the step that made the gradient (update_numbers.hpp)
//   parameter   an nn::parameter
//   scale       an update_scale
//
// An update works element by element on the local shard. Therefore an update does not use
// placements and communicates nothing, and the state of a sharded parameter is sharded too.
// parameter.shards<T>() returns the local shards. An update reads the gradient and writes the
// value. It also writes the copy, which is the value rounded to bfloat16, unless the pointer to the
// copy is null. parameter.decays() is true for weights and embedding tables and false for biases
// and gains. parameter.processor() runs the update, and the memory of this processor holds the
// state. Optimizers: adam_w.hpp, adam_w_rows.hpp, sgd.hpp.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::train {

/// The factors of one update: `rate`, from the schedule, scales the learning rate. `clip` scales
/// the gradient. After the update, averages of squared gradients are over `squares` gradients, or
/// over one gradient for each update if `squares` is negative. The averages stay as they are if
/// `keeps_squares` is set. If `is_momentum` is set, the gradient is already an average of gradients
/// (sent_gradient.hpp).
struct update_scale {
  double rate = 1;
  double clip = 1;
  std::int64_t squares = -1;
  bool keeps_squares = false;
  bool is_momentum = false;
};

/// Throws ashlar::error unless `value` is a finite number in [least, most).
inline void require_option(char const* optimizer, char const* name, double value, double least,
                           double most = std::numeric_limits<double>::infinity()) {
  if (value >= least && value < most) return;
  char text[120];
  if (std::isinf(most))
    std::snprintf(text, sizeof text, "%s is %g, but must be a finite number of at least %g.", name,
                  value, least);
  else
    std::snprintf(text, sizeof text, "%s is %g, but must be at least %g and below %g.", name, value,
                  least, most);
  throw error(optimizer, text);
}

namespace detail {

/// Throws ashlar::error if the model has a gradient in rows and the optimizer cannot update rows.
template <class Model, class Optimizer>
void require_row_updates(Model& model, Optimizer const& optimizer) {
  model.for_each_parameter([&](auto const& p) {
    if (p.rows() == nullptr) return;
    char const* wrong =
        "this optimizer does not update rows. train::sgd and train::adam_w_rows do.";
    if constexpr (requires { optimizer.rows_fault(); }) wrong = optimizer.rows_fault();
    if (wrong != nullptr)
      throw error("trainer", "the gradient of " + p.path() + " is in rows, but " + wrong);
  });
}

/// Returns the beta of the averages that wires with momentum send. Throws ashlar::error if the plan
/// has such wires and the optimizer cannot use what they send.
template <class Model, class Optimizer>
double wire_momentum(Model const& model, Optimizer const& optimizer) {
  if constexpr (requires { optimizer.wire_momentum(); }) return optimizer.wire_momentum();
  if (any_parameter(model.plan(), [](auto const& p) { return p.wire.momentum; }))
    throw error("trainer",
                "wires of the plan send the momentum of gradients, which this optimizer does not "
                "take. Use train::adam_w, or wires with feedback only.");
  return 0;
}

}  // namespace detail

/// The state of an optimizer: `States` values for each element of each parameter, initially zero.
template <class T, int States>
class optimizer_memory {
 public:
  /// Returns the state of parameter p, whose number is `index`: `States` consecutive arrays, each
  /// with as many elements as p's local shard. The first call for a parameter allocates the arrays.
  template <class Parameter>
  T* of(std::size_t index, Parameter const& p) {
    if (index >= states_.size()) states_.resize(index + 1);
    auto& block = states_[index];
    if (block.data() == nullptr) {
      auto const& m = p.value().mesh();
      block = nn::kept<T>(m, States * p.value().local_elements());
      fill(m.processor(), T{}, block.size(), block.data());
    }
    return block.data();
  }

 private:
  std::vector<nn::kept<T>> states_;
};

}  // namespace ashlar::train
