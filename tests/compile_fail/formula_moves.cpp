// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: u | to<...> is not an operator of formulas, which communicate nothing.
// expect: formula: redistribute is not an operator of formulas, which communicate nothing.

// A formula does not move tensors. Their placements follow from the placements of the formula's
// operands, or from the plan of the net.

#include <ashlar/signature/formula/symbol.hpp>
#include <ashlar/tensor/redistribute.hpp>

using namespace ashlar::placements;
using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u) { return 2 * u; }
#else
auto f(symbol<2> u) { return 2 * (u | ashlar::to<B>); }
auto g(symbol<2> u) { return redistribute(u, ashlar::sbp<B>{}); }
#endif
