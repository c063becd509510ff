// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the mesh of MPI processes: transports, the cache of plans, and the kernels that move
// elements.

#define ASHLAR_COMPILES_COMM 1
#include <ashlar/comm/mesh.hpp>

template class ashlar::basic_mesh<ashlar::device::host::processor>;
