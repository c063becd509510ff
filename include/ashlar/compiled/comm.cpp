// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the MPI environment and the mesh of MPI processes: its transports, its cache of plans,
// its watchdog, and the kernels that copy and combine elements for the transports.

#define ASHLAR_COMPILES_COMM 1
#include <ashlar/comm/mesh.hpp>
#include <ashlar/comm/mpi/environment.hpp>

template class ashlar::basic_mesh<ashlar::device::host::processor>;
