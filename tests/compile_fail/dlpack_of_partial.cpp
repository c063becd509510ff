// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: ashlar::to_dlpack

// Another program would take the addends of a partial tensor for its values. The compiler's message
// is that of local(), which local_of_partial.cpp tests. Here only the called function is expected.

#include <ashlar/tensor/dlpack.hpp>

using namespace ashlar::placements;

#ifdef ASHLAR_CONTROL
using placed = ashlar::sbp<S<0>>;
#else
using placed = ashlar::sbp<P>;
#endif

auto exported(ashlar::mesh const& m) {
  return ashlar::to_dlpack(ashlar::empty<double, 2>(m, {4, 2}, placed{}));
}
