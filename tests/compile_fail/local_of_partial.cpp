// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: local: the shard of a partial tensor has addends, not values. Reduce the tensor first, as in x | to<B, ...>, or read the addends with x.local_addends().

// A loop over the shard could mistake the addends for values.

#include <ashlar/tensor/factory.hpp>

using namespace ashlar::placements;

#ifdef ASHLAR_CONTROL
using placed = ashlar::sbp<S<0>>;
#else
using placed = ashlar::sbp<P>;
#endif

float first(ashlar::mesh const& m) { return ashlar::empty<float, 1>(m, {4}, placed{}).local()[0]; }
