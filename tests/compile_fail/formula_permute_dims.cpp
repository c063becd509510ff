// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: permute names each dim of u once, as permute<1, 0>(u) for two dims.

// Dim 2 would be lost.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<3> u) { return permute<1, 0, 2>(u); }
#else
auto f(symbol<3> u) { return permute<1, 0>(u); }
#endif
