// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: flatten<1, 2>(u) merges dims 1 to 2, which u must have.

// A matrix has no dim 2.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<3> u) { return flatten<1, 2>(u); }
#else
auto f(symbol<2> u) { return flatten<1, 2>(u); }
#endif
