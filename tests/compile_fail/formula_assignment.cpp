// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: an operator gives a new tensor and changes none, so += is not an operator of formulas.

// x += y changes a tensor in place. A symbol stands for a value in a formula and cannot be changed.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u, symbol<2> v) { return u + v; }
#else
auto f(symbol<2> u, symbol<2> v) { return u += v; }
#endif
