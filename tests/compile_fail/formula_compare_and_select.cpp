// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: < is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: <= is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: > is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: >= is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: equal is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: min of two operands is not an operator of formulas. They have + - * / of tensors and numbers,

// To choose between values, a formula uses functions of one number such as relu, `where` with a
// mask, or max and min over dims. In the permitted formula, min(u, 1) is the minimum over dim 1.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u) { return relu(u) + where(u, abs(u), 0) * min(u, 1); }
#else
auto g(symbol<2> u, symbol<2> v) { return u < v; }
auto h(symbol<2> u) { return 1 <= u; }
auto i(symbol<2> u) { return u > 1.5; }
auto j(symbol<2> u, symbol<1> v) { return u >= v; }
auto k(symbol<2> u) { return equal(u, 1); }
auto l(symbol<2> u) { return min(0.5, u); }
#endif
