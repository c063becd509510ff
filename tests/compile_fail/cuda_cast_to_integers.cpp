// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: cast between integers and others: devices have no kernel for it, so it runs on the host.

// This cast is computed by a loop on the host, which cannot read a shard in device memory.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/factory.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

auto f(mesh const& m, ashlar::placement const& p) {
  auto const x = ashlar::empty<float, 1>(m, {4}, p);
  return ashlar::cast<std::int32_t>(x);
}
