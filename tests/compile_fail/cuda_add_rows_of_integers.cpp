// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add_rows of integers: devices have no kernel for it, so it runs on the host.

// On a device, add_rows calls a kernel of embeddings. This kernel exists for floating-point
// numbers only.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/rows.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

auto f(mesh const& m, ashlar::placement const& p) {
  auto const table = ashlar::empty<std::int64_t, 2>(m, {4, 3}, p);
  auto const ids = ashlar::empty<std::int32_t, 1>(m, {4}, p);
  return add_rows(table, ids, table);
}
