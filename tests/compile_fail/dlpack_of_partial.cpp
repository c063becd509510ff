// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: local: the shard of a partial tensor has addends, not values. Reduce the tensor first, as in x | to<B, ...>, or read the addends with x.local_addends().

// Another program would take the addends of a partial tensor for its values.

#include <ashlar/tensor/dlpack.hpp>

using namespace ashlar::placements;

#ifdef ASHLAR_CONTROL
using placed = ashlar::sbp<S<0>>;
#else
using placed = ashlar::sbp<P>;
#endif

auto exported(ashlar::mesh const& m) {
  return ashlar::to_dlpack(ashlar::empty<float, 1>(m, {4}, placed{}));
}
