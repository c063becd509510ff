// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: transpose(u) is for matrices. Name the dims to swap: transpose<1, 2>(u).

// It is not clear which of three dims to swap.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<3> u) { return transpose<1, 2>(u); }
#else
auto f(symbol<3> u) { return transpose(u); }
#endif
