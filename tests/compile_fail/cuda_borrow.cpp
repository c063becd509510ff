// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: borrow_local: the mesh has device memory, and a span does not say where its values are. Copy the values with from_local.

// A tensor on a device would use host memory as its shard.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/borrow_local.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

void borrow(mesh const& m, ashlar::placement const& p, std::span<float> values) {
  ashlar::borrow_local<1>(m, {4}, p, values);
}
