// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: einsum of one tensor permutes its dims, as einsum<

// The result lacks n, over which sum(u, 1) sums.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::einsum;
using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u) { return einsum<"mn->nm">(u); }
#else
auto f(symbol<2> u) { return einsum<"mn->m">(u); }
#endif
