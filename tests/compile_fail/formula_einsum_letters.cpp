// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: einsum of two tensors sums over letters that both have.

// The letter b is only in one operand and not in the result, so einsum would sum one operand alone.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::einsum;
using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u, symbol<2> v) { return einsum<"ab,bc->ac">(u, v); }
#else
auto f(symbol<2> u, symbol<2> v) { return einsum<"ab,cd->acd">(u, v); }
#endif
