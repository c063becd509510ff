// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: sum takes dims as arguments: sum(u, 0), or -1 for the last dim.

// sum<0>(x) is the form for tensors. In a formula, the dim is an argument of the function:
// sum(u, 0).

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u, symbol<2> v) { return sum(u, 0) + v; }
#else
auto f(symbol<2> u, symbol<2> v) { return sum<0>(u) + v; }
#endif
