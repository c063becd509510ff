// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: max of two tensors is not an operator of formulas.

// max(x, y) is the larger of two tensors, element by element. In a formula, max is only the maximum
// over a dim.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u) { return max(u, -1); }
#else
auto f(symbol<2> u) { return max(u, u); }
#endif
