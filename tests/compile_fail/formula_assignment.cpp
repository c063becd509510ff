// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: an operator gives a new tensor and changes none, so += is not an operator of formulas.

// Tensors are changed in place, but symbols are not.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u, symbol<2> v) { return u + v; }
#else
auto f(symbol<2> u, symbol<2> v) { return u += v; }
#endif
