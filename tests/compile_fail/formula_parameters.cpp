// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::formula: the function takes a symbol for x and one for each weight

// The layer has a weight, but the function has no parameter for the weight.

#include <ashlar/nn/formula.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
auto const layer = nn::formula(
                       "f", [](auto x, auto w) { return matmul(x, w); }, nn::weight("w", {5, 6}))
                       .spec({4, 5});
#else
auto const layer = nn::formula(
                       "f", [](auto x) { return x; }, nn::weight("w", {5, 6}))
                       .spec({4, 5});
#endif
