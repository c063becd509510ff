// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: einsum names each dim of two tensors and of the result by a letter, as einsum<

// The left operand has three dims, but the text has only two letters for it.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::einsum;
using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<3> u, symbol<2> v) { return einsum<"abc,cd->abd">(u, v); }
#else
auto f(symbol<3> u, symbol<2> v) { return einsum<"ac,cd->ad">(u, v); }
#endif
