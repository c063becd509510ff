// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// RMS norm over the last dim, as a formula (nn/formula.hpp):
//
//   y = x / sqrt(mean(x²) + ε) · gain
//
// The source is Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019. Plans may split
// the rows, but never the last dim, since the mean of a row needs all of it.

#include <ashlar/nn/formula.hpp>

namespace ashlar::nn {

/// Returns the layer that maps x [.., features] to y of the same extents. The gain is 1 before
/// training. The passes do not communicate. Throws ashlar::error, when the layer is described, if
/// the last extent of x is not `features`.
constexpr auto rms_norm(std::int64_t features, double epsilon = 1e-5) {
  return formula(
             "rms_norm",
             [features, epsilon](auto x, auto gain) {
               expect_extent(x, -1, features);
               return x * rsqrt(mean(x * x, -1) + epsilon) * gain;
             },
             weight("gain", {features}, all_equal(1)))
      .with_constant("epsilon", epsilon);
}

}  // namespace ashlar::nn
