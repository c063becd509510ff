// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: norm: the norm of a partial tensor is not the sum of the norms of its addends. Reduce it first, as in norm(x | to<B, ...>).

// A norm is not linear, so the norms of the addends do not add up to the norm of the tensor.

#include <ashlar/tensor/dot.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return norm(x); }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return norm(x); }
#endif
