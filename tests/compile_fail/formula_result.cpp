// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::formula: the function must return the symbol of y.

// The function returns a number.

#include <ashlar/nn/formula.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
auto const layer = nn::formula("f", [](auto x) { return 2 * x; }).spec({4, 5});
#else
auto const layer = nn::formula("f", [](auto) { return 2; }).spec({4, 5});
#endif
