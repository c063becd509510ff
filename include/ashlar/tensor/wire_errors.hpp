// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The errors that a rank has made when it encoded the blocks of one redistribution, for wires with
// error feedback (plan/wire.hpp). The next run of the same redistribution adds them to its blocks:
//
//   wire_errors errors;
//   auto g = redistribute(partial, sbp<S<0>>{}, sync::wire<sync::one_bit>{}, errors);
//
// They begin as zero. They take as many bytes as what is encoded (error_bytes), and checkpoints do
// not contain them.

#include <cstdint>
#include <vector>

#include <ashlar/support/error.hpp>

namespace ashlar {

class wire_errors {
 public:
  /// Returns the errors of step number `step`, which encodes `count` elements. Throws ashlar::error
  /// if earlier runs have encoded another number of elements.
  float* of_step(std::size_t step, std::int64_t count) {
    if (of_.size() <= step) of_.resize(step + 1);
    auto& own = of_[step];
    auto const size = static_cast<std::size_t>(count);
    if (own.empty()) own.resize(size);
    if (own.size() != size)
      throw error("redistribute", "the errors are of " + std::to_string(own.size()) +
                                      " elements, but this rank encodes " + std::to_string(size) +
                                      ". Use one wire_errors for each tensor and its placements.");
    return own.data();
  }
  /// Returns the errors of step number `step`; empty if it has not run.
  std::vector<float> const& step(std::size_t number) const {
    static std::vector<float> const none;
    return number < of_.size() ? of_[number] : none;
  }

 private:
  std::vector<std::vector<float>> of_;
};

}  // namespace ashlar
