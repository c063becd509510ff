// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: ashlar::to_dlpack

// Another program would mistake the addends of a partial tensor for the tensor's values. The error
// comes from local(), and local_of_partial.cpp tests its text. This test expects only that the
// compiler's output names to_dlpack.

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
