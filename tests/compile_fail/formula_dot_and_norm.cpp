// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: dot is not an operator of formulas. Write sum(u * v, dims..).
// expect: formula: norm is not an operator of formulas. Write sqrt(sum(u * u, dims..)).

// A formula gives tensors, not numbers.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<1> u, symbol<1> v) { return sum(u * v, 0) / sqrt(sum(u * u, 0)); }
#else
auto f(symbol<1> u, symbol<1> v) { return dot(u, v); }
auto g(symbol<1> u) { return norm(u); }
#endif
