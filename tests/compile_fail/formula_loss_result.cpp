// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::formula_loss: the function must return the symbol of the losses.

// The function returns a number.

#include <ashlar/nn/formula_loss.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
auto const loss = nn::formula_loss("l", [](auto y, auto t) { return 2 * y * t; }).spec({4, 5});
#else
auto const loss = nn::formula_loss("l", [](auto, auto) { return 2; }).spec({4, 5});
#endif
