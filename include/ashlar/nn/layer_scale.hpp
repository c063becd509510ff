// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layer scale (Touvron et al. 2021): a gain for each feature, at the end of the inner net of a
// residual:
//
//   residual(chain(layer_norm(d), perceptron(d, 4 * d), layer_scale(d)))      x + gain * f(x)
//
// All gains begin with one small number, so that a deep net begins close to the identity. Plans may
// split any dim. The layer is a formula (nn/formula.hpp), so it runs on the host and on GPUs.

#include <ashlar/nn/formula.hpp>

namespace ashlar::nn {

/// Returns the layer that maps x [.., features] to x * gain [features]. `initial` is the value of
/// all gains before training: Touvron et al. took 0.1 for up to 18 blocks, 1e-5 for up to 24, and
/// 1e-6 for more. The passes do not communicate.
constexpr auto layer_scale(std::int64_t features, double initial = 0.1) {
  return formula(
      "layer_scale",
      [features](auto x, auto gain) {
        expect_extent(x, -1, features);
        return x * gain;
      },
      weight("gain", {features}, all_equal(initial)));
}

}  // namespace ashlar::nn
