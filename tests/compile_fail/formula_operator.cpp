// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: split_into is not an operator of formulas.

// Tensors have this operator, but formulas do not.

#include <ashlar/nn/formula.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
auto const layer = nn::formula("f", [](auto x) { return exp(x); }).spec({4, 5});
#else
auto const layer = nn::formula("f", [](auto x) { return split_into(x); }).spec({4, 5});
#endif
