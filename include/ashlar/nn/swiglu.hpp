// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The gated MLP of Llama, as a formula (nn/formula.hpp):
//
//   y = (silu(x gate) * (x up)) down        silu(u) = u / (1 + e^-u)
//
// The source is Shazeer, "GLU Variants Improve Transformer", 2020. Plans may split the rows and the
// hidden features. If the hidden features are split, y is a partial sum.

#include <ashlar/nn/formula.hpp>

namespace ashlar::nn {

/// Returns the layer that maps x [.., features] to y of the same extents through `hidden` gated
/// features. Its passes do not communicate.
constexpr auto swiglu(std::int64_t features, std::int64_t hidden) {
  return formula(
      "swiglu",
      [](auto x, auto gate, auto up, auto down) {
        return matmul(silu(matmul(x, gate)) * matmul(x, up), down);
      },
      weight("gate", {features, hidden}), weight("up", {features, hidden}),
      weight("down", {hidden, features}));
}

}  // namespace ashlar::nn
