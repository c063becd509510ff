// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: combine: the operand is partial with another reduction than the requested one, and they do not commute. Reduce it first, as in combine(r | to<B, ...>).

// combine sums the rows of each token, but a sum of partial maxima has no meaning.

#include <ashlar/tensor/routed_operators.hpp>

using namespace ashlar::placements;
using ashlar::routed;
using ashlar::sbp;

#ifdef ASHLAR_CONTROL
auto f(routed<float, sbp<P>> const& r) { return combine(r); }
#else
auto f(routed<float, sbp<Pmax>> const& r) { return combine(r); }
#endif
