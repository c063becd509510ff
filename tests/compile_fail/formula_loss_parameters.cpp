// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::formula_loss: the function takes a symbol for the output of the net and one for its targets, each by value

// The function does not take the targets.

#include <ashlar/nn/formula_loss.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
auto const loss = nn::formula_loss("l", [](auto y, auto t) { return y * t; }).spec({4, 5});
#else
auto const loss = nn::formula_loss("l", [](auto y) { return y * y; }).spec({4, 5});
#endif
