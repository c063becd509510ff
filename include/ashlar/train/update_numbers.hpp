// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which update of a parameter a step makes, if gradients are delayed (nn/delayed_gradients.hpp).
//
//   step          0   1   ..  d - 1   d   d + 1
//   update        –   –       –       1   2         of a parameter whose gradient is delayed by d
//
// A training that has lost its delayed gradients makes no update in the first d steps after that,
// either. Updates have the number of the step that made their gradient, counted from 1.

#include <cstdint>
#include <vector>

#include <ashlar/nn/delayed_gradients.hpp>

namespace ashlar::train {

class update_numbers {
 public:
  /// Takes the delays of the gradients for the updates in program `p`. The program of a pipeline's
  /// part has only the updates of this part, and delays no gradient.
  template <class Processor>
  update_numbers(step::program const& p, nn::delayed_gradients<Processor> const& delayed) {
    if (delayed.empty()) return;
    for (auto const& a : p.actions)
      if (a.kind == step::action_kind::update)
        delays_.push_back(delayed.delay_of(a.element, a.part));
  }

  /// Step number `step`, counted from 0, may update parameter number `index`. Returns the number of
  /// this update, counted from 1, or 0 if the step makes none.
  std::int64_t number(std::size_t index, std::int64_t step) const {
    std::int64_t const made_in = step - (delays_.empty() ? 0 : delays_[index]);
    return made_in >= first_ ? made_in + 1 : 0;
  }

  /// Returns the number of the first step whose gradients can be used. Those of earlier steps, if
  /// there were any, are lost.
  std::int64_t first() const { return first_; }
  void set_first(std::int64_t step) { first_ = step; }
  /// Sets the delayed gradients to zero before step number `step`. From now on, this step is the
  /// first one whose gradients the training has.
  template <class Processor>
  void forget(nn::delayed_gradients<Processor>& delayed, std::int64_t step) {
    delayed.clear();
    first_ = step;
  }

 private:
  std::vector<int> delays_;  // delays in steps, by parameter; empty if no gradient is delayed
  std::int64_t first_ = 0;
};

}  // namespace ashlar::train
