// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: where: devices have no kernel for it, so it runs on the host.

// where() is computed by a loop on the host, which cannot read a shard in device memory.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/where.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

auto f(mesh const& m, ashlar::placement const& p) {
  auto const x = ashlar::empty<float, 1>(m, {4}, p);
  return where(x, x, 1);
}
