// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: local: the shard of a partial tensor has addends, not values. Reduce the tensor first, as in x | to<B, ...>, or read the addends with x.local_addends().

// The experts are split, so each rank sums only the rows of its own experts. The sum is partial.

#include <ashlar/tensor/routed_operators.hpp>

using namespace ashlar::placements;
using ashlar::routed;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using rows = sbp<S<0>>;
#else
using rows = sbp<S<1>>;
#endif

float first(routed<float, rows> const& r) { return combine(r).local()[0]; }
