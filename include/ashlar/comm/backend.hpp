// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a mesh is made of on one sort of processor: memory, transport, and how a rank waits.
//
//   backend_of<device::host::processor>   mpi/backend.hpp: an arena, of which the ranks of a node
//                                         share a part; MPI
//   backend_of<cuda::processor>           nccl/backend.hpp: a pool of device memory; NCCL
//
// It has the members
//
//   world, settings          what its constructor takes besides the topology
//   processor()              what computes
//   memory()                 allocate(bytes), release(block, bytes)
//   operations()                  the tickets of the mesh's transfers (operation_queue.hpp)
//   make_transport()         the communicator without decorators
//   until(condition)         waits, and lets transfers go on meanwhile
//   refuse_if_stopped()      throws if the transport has ended a transfer without its result

namespace ashlar {

template <class Processor>
struct backend_traits;

template <class Processor>
using backend_of = typename backend_traits<Processor>::type;

}  // namespace ashlar
