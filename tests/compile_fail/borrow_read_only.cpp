// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: borrow_local: the memory is read-only, but a tensor gives write access to its shard. Copy the values with from_local.

// A tensor that borrows constant values would let a program write to them.

#include <ashlar/tensor/borrow_local.hpp>

using namespace ashlar::placements;

#ifdef ASHLAR_CONTROL
using element = float;
#else
using element = float const;
#endif

void borrow(ashlar::mesh const& m, std::span<element> values) {
  ashlar::borrow_local<1>(m, {4}, ashlar::sbp<S<0>>{}, values);
}
