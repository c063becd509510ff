// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: from_dlpack: the mesh has device memory. Copy the values with from_local.

// Arrays of other programs are imported on the host only.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/from_dlpack.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

void import(mesh const& m, ashlar::placement const& p, ashlar::dlpack::managed* array) {
  ashlar::from_dlpack<float, 1>(m, {4}, p, array);
}
