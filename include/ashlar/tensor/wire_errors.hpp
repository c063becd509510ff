// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The errors that one rank makes when it encodes the blocks of one redistribution, for wires with
// error feedback (plan/wire.hpp). The next run of the same redistribution adds these errors to its
// blocks:
//
//   wire_errors errors;
//   auto g = redistribute(partial, sbp<S<0>>{}, sync::wire<sync::one_bit>{}, errors);
//
// The first run adds zeros. error_bytes returns how many bytes the errors take. The checkpoints of
// a training contain the errors of its gradients (checkpoint/training.hpp).

#include <cstdint>
#include <vector>

#include <ashlar/support/error.hpp>

namespace ashlar {

class wire_errors {
 public:
  /// Returns the errors of step number `step` of the redistribution. The step encodes `count`
  /// elements on this rank. Throws ashlar::error if earlier runs have encoded another number of
  /// elements.
  float* of_step(std::size_t step, std::int64_t count) {
    auto* const errors = room(step, count);
    auto& own = of_[step];
    if (own.count < 0) own.count = count;
    if (own.count != count)
      throw error("redistribute", "the errors are of " + std::to_string(own.count) +
                                      " elements, but this rank encodes " + std::to_string(count) +
                                      ". Use one wire_errors for each tensor and its placements.");
    return errors;
  }
  /// Returns the errors of step number `step`, with room for at least `count` elements. Errors that
  /// no run has stored are zero. The address changes only if more room is asked for.
  float* room(std::size_t step, std::int64_t count) {
    if (of_.size() <= step) of_.resize(step + 1);
    auto& values = of_[step].values;
    if (values.size() < static_cast<std::size_t>(count))
      values.resize(static_cast<std::size_t>(count));
    return values.data();
  }
  /// Returns the errors of step `number`. The list is empty if nothing has asked for them so far.
  std::vector<float> const& step(std::size_t number) const {
    static std::vector<float> const none;
    return number < of_.size() ? of_[number].values : none;
  }

 private:
  struct step_errors {
    std::vector<float> values;
    std::int64_t count = -1;  // elements of a run; -1 if none has run
  };
  std::vector<step_errors> of_;
};

}  // namespace ashlar
