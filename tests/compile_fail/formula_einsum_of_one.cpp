// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: einsum of one tensor permutes its dims, as einsum<

// The result lacks the letter n, so this einsum would be the sum over a dim. A formula writes that
// sum as sum(u, 1).

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::einsum;
using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u) { return einsum<"mn->nm">(u); }
#else
auto f(symbol<2> u) { return einsum<"mn->m">(u); }
#endif
