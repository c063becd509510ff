// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: local: the shard is in a device's memory, where the host's loops cannot read. Copy it with local_values(x) or to_full(x), or give data() to kernels of the device.

// local() would let host code read a shard in device memory.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/gather.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

float first(mesh const& m, ashlar::placement const& p) {
  return ashlar::empty<float, 1>(m, {4}, p).local()[0];
}
