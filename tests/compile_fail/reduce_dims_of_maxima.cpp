// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: sum: the operand is partial with another reduction than the requested one, and they do not commute. Reduce it first, as in sum<0>(x | to<B, ...>).

// The sum over several dims of a partial maximum is not a sum or a maximum of the shards' sums.

#include <ashlar/tensor/reduce.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 3, sbp<P>> const& x) { return ashlar::sum<0, 2>(x); }
#else
auto f(tensor<float, 3, sbp<Pmax>> const& x) { return ashlar::sum<0, 2>(x); }
#endif
