// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: add_rows is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: argmax is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: argmin is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: cast is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: item is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: map is not an operator of formulas. They have + - * / of tensors and numbers,

// Tensors have these operators, but formulas do not.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u, symbol<1> v) { return cumulative_sum<0>(u) + sum(take_rows(u, v), 0); }
#else
auto g(symbol<2> u, symbol<1> v) { return add_rows(u, v, u); }
auto h(symbol<2> u) { return argmax<0>(u); }
auto i(symbol<2> u) { return argmin<0>(u); }
auto k(symbol<2> u) { return cast<float>(u); }
auto l(symbol<0> u) { return item(u); }
auto m(symbol<2> u) {
  return map([](float a, float b) { return a * b; }, u, u);
}
#endif
