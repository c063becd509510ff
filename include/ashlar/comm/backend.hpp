// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A backend consists of all parts of a mesh that depend on the kind of processor: its memory, its
// transport, and how a rank waits.
//
//   backend_of<device::host::processor>   mpi/backend.hpp: an arena that is partly shared by the
//                                         ranks of a node; MPI
//   backend_of<cuda::processor>           nccl/backend.hpp: a pool of device memory; NCCL
//
// A backend has these members:
//
//   world, settings         types of the constructor's arguments besides the topology
//   require_topology(...)   throws if the topology does not fit the number of ranks. Throws on every
//                           rank if the ranks give different topologies, unless make_transport()
//                           does so
//   processor()             the processor that computes
//   memory()                allocate(bytes), release(block, bytes)
//   default_settings()      the settings of a mesh for which the program gives none
//   check_variables()       throws if an environment variable of the backend is wrong; missing in
//                           backends that store such a fault in their settings
//   is_watched              whether meshes have a watchdog (watch/watchdog.hpp)
//   record()                the record of the mesh's last operations (watch/flight_record.hpp)
//   operations()            the queue of the mesh's transfers (operation_queue.hpp)
//   make_transport()        creates the communicator, without decorators
//   make_transport(...)     creates the communicator of a part, collectively over the whole mesh
//   start_crossing(...)     begins this rank's share of a crossing, which moves a tensor from one
//                           part of the mesh to another
//   announce_crossing(...)  says that a crossing will begin later; exists only in backends whose
//                           crossings begin in the order in which they were announced
//   until(condition)        waits until the condition is true; advances pending transfers meanwhile
//   refuse_if_stopped()     throws if the transport aborted a transfer, which then has no result

namespace ashlar {

template <class Processor>
struct backend_traits;

template <class Processor>
using backend_of = typename backend_traits<Processor>::type;

}  // namespace ashlar
