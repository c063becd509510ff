// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::formula: a layer has at most 4 weights.

#include <ashlar/nn/formula.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
auto const w = nn::weight("w", {5, 5});
auto const layer = nn::formula(
    "f", [](auto x, auto a, auto b, auto c, auto d) { return x * a * b * c * d; }, w, w, w, w);
#else
auto const w = nn::weight("w", {5, 5});
auto const layer = nn::formula(
    "f", [](auto x, auto a, auto b, auto c, auto d, auto e) { return x * a * b * c * d * e; }, w, w,
    w, w, w);
#endif
