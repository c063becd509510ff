// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The backend of a mesh for processes with host memory, on MPI. comm/backend.hpp describes the
// members of a backend.

#include <memory>
#include <utility>

#include <ashlar/comm/agreement_in_maxima.hpp>
#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/backend.hpp>
#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/mesh_core.hpp>
#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/mpi/mailbox.hpp>
#include <ashlar/comm/mpi/shared_window.hpp>
#include <ashlar/comm/mpi/waiting.hpp>
#include <ashlar/comm/watch/both_parts.hpp>
#include <ashlar/config.hpp>
#include <ashlar/device/host/processor.hpp>
#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/support/content_hash.hpp>
#include <ashlar/support/exception_watch.hpp>
#if ASHLAR_DEFINES(COMM)
#include <ashlar/comm/mpi/algorithm_file.hpp>
#include <ashlar/comm/mpi/communicator.hpp>
#include <ashlar/comm/mpi/running_crossing.hpp>
#endif

namespace ashlar {

struct prepared_crossing;

namespace mpi {

class backend {
 public:
  using world = MPI_Comm;
  using settings = shared::settings;
  /// Says whether meshes have a watchdog. They have none in SimGrid, which runs all ranks in one
  /// process and in simulated time.
#ifdef SMPI_H
  static constexpr bool is_watched = false;
#else
  static constexpr bool is_watched = true;
#endif

  /// Collective over `comm`, which must have as many ranks as `t`.
  backend(MPI_Comm comm, topology const& t, shared::settings const& sharing)
      : topology_(t), handles_(comm), window_(handles_, sharing),
        memory_(window_.region(), window_.region_bytes()), record_(t),
        waiting_(operations_, record_, window_.ranks_on_node()) {
    operations_.on_abandon([this, rank = rank_in(comm)] { window_.abandon(rank); });
  }
  backend(backend const&) = delete;
  backend& operator=(backend const&) = delete;
  ~backend() {
    if (watch_.is_passing())
      operations_.abandon();  // other ranks may wait for this rank's next step
    if (!memory_.is_retired()) return;
    handles_.keep_forever();
    window_.keep_pages();
  }

  /// Throws ashlar::error if MPI is not running. MPI itself would end the process, and its message
  /// would not mention mpi::environment.
  static void require_mpi() {
    int is_initialized = 0, is_finalized = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (is_initialized == 0 || is_finalized != 0)
      throw error("mesh", "MPI is not running. Begin main with ashlar::mpi::environment "
                          "env(argc, argv), and let it outlive all meshes.");
  }

  static int rank_in(MPI_Comm comm) {
    require_mpi();
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }
  static int size_of(MPI_Comm comm) {
    require_mpi();
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
  }
  /// Throws ashlar::error on every rank if the ranks give different topologies, or if the topology
  /// has another number of ranks than `comm`. Collective over `comm`: an all-reduce of 16 bytes,
  /// and two more of 8 bytes before an error. Transfers of the mesh could not compare topologies,
  /// since ranks with different ones would wait at different slots of the shared memory.
  static void require_topology(MPI_Comm comm, topology const& t) {
    int const rank = rank_in(comm), ranks = size_of(comm);
    auto const text = to_string(t);
    ashlar::detail::require_agreement(
        content_hash(text.data(), text.size()), rank, ranks, "mesh",
        "the ranks give different topologies", [comm](reduction op, auto values) {
          check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                              MPI_INT64_T, operation_of(op), comm));
        });
    ashlar::detail::require_ranks(t, ranks);
  }
  static shared::settings default_settings() { return shared::from_environment(); }

  device::host::processor processor() const { return {}; }
  arena& memory() { return memory_; }
  operation_queue& operations() { return operations_; }
  watch::flight_record& record() { return record_; }
  std::shared_ptr<ashlar::communicator> make_transport();
  /// Creates the transport of a part of a mesh. `from` is the transport of that mesh, and the part
  /// gets its table of algorithms. This rank has number `rank` in the part. If `rank` is negative,
  /// returns null. `operations` is the part's queue, which must outlive the transport. Collective
  /// over the members of the part.
  std::shared_ptr<ashlar::communicator> make_transport(mesh_part const& part, int rank,
                                                       operation_queue& operations,
                                                       ashlar::communicator& from);

  /// Begins this rank's messages of a crossing between two parts of the mesh. `shard` has the
  /// elements of box `tile`. All ranks of the two parts must give the same `number`. `c` and
  /// `shard` must outlive the result.
  std::unique_ptr<pending_operation> start_crossing(prepared_crossing const& c, box const& tile,
                                                    void* shard, std::size_t element_size,
                                                    int number);

  /// Opens a mailbox between the ranks of the mesh. The mesh must outlive the mailbox. Collective.
  /// First, all ranks meet in a barrier of `transport`. A rank that waits in this barrier still
  /// handles letters of earlier mailboxes. A rank that waits in MPI_Comm_dup does not.
  std::unique_ptr<mailbox> open_mailbox(mailbox::handler take, ashlar::communicator& transport) {
    transport.barrier();
    MPI_Comm own = MPI_COMM_NULL;
    check(MPI_Comm_dup(handles_.comm(), &own));
    handles_.keep_communicator(own);
    return std::make_unique<mailbox>(operations_, own, std::move(take));
  }

  template <class Condition>
  void until(Condition ended) const {
    waiting_.until(ended);
  }

  /// Does nothing, because this transport never ends a transfer without its result.
  void refuse_if_stopped() const {}

 private:
  topology topology_;
  collective_handles handles_;
  shared_window window_;
  arena memory_;
  operation_queue operations_;
  watch::flight_record record_;
  watch::both_parts both_parts_;
  mpi::waiting waiting_;
  exception_watch watch_;
};

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE std::shared_ptr<ashlar::communicator> backend::make_transport() {
  return std::make_shared<communicator>(handles_.comm(), handles_, topology_, window_, memory_,
                                        operations_, record_, waiting_,
                                        algorithms_from_environment(handles_.comm()));
}
ASHLAR_INLINE std::unique_ptr<pending_operation>
backend::start_crossing(prepared_crossing const& c, box const& tile, void* shard,
                        std::size_t element_size, int number) {
  return std::make_unique<running_crossing>(
      operations_, record_,
      both_parts_.number(record_, c.plan.source, c.plan.target, rank_in(handles_.comm())), c, tile,
      shard, element_size, handles_.comm(), number, memory_, window_);
}
ASHLAR_INLINE std::shared_ptr<ashlar::communicator>
backend::make_transport(mesh_part const& part, int rank, operation_queue& operations,
                        ashlar::communicator& from) {
  if (rank < 0) return nullptr;
  MPI_Group whole = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_group(handles_.comm(), &whole));
  check(MPI_Group_incl(whole, static_cast<int>(part.ranks.size()), part.ranks.data(), &group));
  int const status = MPI_Comm_create_group(handles_.comm(), group, part.ranks.front(), &comm);
  MPI_Group_free(&group);
  MPI_Group_free(&whole);
  check(status);
  handles_.keep_communicator(comm);
  auto const& algorithms = static_cast<communicator const&>(from).algorithms();
  return std::make_shared<communicator>(comm, handles_, part.axes, window_, memory_, operations,
                                        record_, waiting_, algorithms, part.ranks);
}
#endif

}  // namespace mpi

template <>
struct backend_traits<device::host::processor> {
  using type = mpi::backend;
};

}  // namespace ashlar
