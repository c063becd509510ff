// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The backend of a mesh for ranks with one device each, on NCCL. comm/backend.hpp describes the
// members of a backend.
//
//   ashlar::nccl::environment env(argc, argv);
//   ashlar::nccl::mesh mesh(env.world(), {{"node", 2}, {"gpu", 4}});
//
// All computations of a mesh run on one CUDA stream, its transfers on a second stream, and
// crossings between its parts on a third stream. The host gives work to these streams without
// waiting for results. The host waits only where it needs values, as in all-reduces of host values,
// and in barriers.

#include <memory>

#include <ashlar/comm/mesh.hpp>
#include <ashlar/comm/nccl/communicator.hpp>
#include <ashlar/comm/nccl/device_kernels.hpp>
#include <ashlar/comm/nccl/graph.hpp>
#include <ashlar/comm/nccl/pending_crossing.hpp>
#include <ashlar/device/cuda/arena.hpp>
#include <ashlar/device/cuda/operations.hpp>

namespace ashlar {
namespace nccl {

class backend {
 public:
  using world = nccl::world;
  using settings = sums;
  static constexpr bool is_watched = true;

  /// `w` must have as many ranks as `t`.
  backend(nccl::world const& w, topology const& t, sums how)
      : world_(w), topology_(t), how_(how), memory_(pool_, stream_),
        products_(pool_, stream_, product_options()) {}
  backend(backend const&) = delete;
  backend& operator=(backend const&) = delete;

  static int rank_in(nccl::world const& w) { return w.rank(); }
  static int size_of(nccl::world const& w) { return w.size(); }
  /// Returns the method of sums that ASHLAR_NCCL_SUMS asks for. Never throws, since the other ranks
  /// would wait for this one: check_variables() throws later.
  static sums default_settings() {
    sums wanted = sums::library;
    fault_of([&] { wanted = sums_from_environment(); });
    return wanted;
  }
  static void check_variables() {
    sums_from_environment();
    cuda::gemm_options_from_environment();
  }
  /// Throws ashlar::error if the topology has another number of ranks than `w`. make_transport()
  /// compares the topologies of the ranks.
  static void require_topology(nccl::world const& w, topology const& t) {
    ashlar::detail::require_ranks(t, w.size());
  }

  cuda::processor processor() { return {stream_.get(), &products_}; }
  /// Returns the device memory. Released blocks are reused in the order of the compute stream.
  cuda::arena& memory() { return memory_; }
  operation_queue& operations() { return operations_; }
  watch::flight_record& record() { return transport_.lock()->queue()->record(); }
  /// Gives the transport the mesh's watchdog, which explains why an operation does not end.
  void explain_by(std::shared_ptr<watch::watchdog> const& mesh) {
    transport_.lock()->queue()->explain_by(mesh);
  }
  /// Creates the transport of the mesh. All ranks sum by the method that rank 0 wants. Throws
  /// ashlar::error on every rank if the ranks give different topologies. Collective over the mesh:
  /// a broadcast of 4 bytes and an all-reduce of 16 bytes, and before an error two more of 8 bytes.
  std::shared_ptr<ashlar::communicator> make_transport() {
    auto const made = std::make_shared<communicator>(world_, topology_, operations_, stream_, pool_,
                                                     device_kernels(), how_);
    transport_ = made;
    // Ranks that sum by different methods would make different calls in the first all-reduce. So
    // all ranks take the method of rank 0.
    std::int32_t how = how_ == sums::ordered ? 1 : 0;
    auto const axes = all_axes(topology_.axes());
    auto const here = topology_.coordinates_of(world_.rank());
    ashlar::detail::carry(*this, operations_, *made, std::span<std::int32_t>(&how, 1),
                          flat_rooted(collective::broadcast, 1, axes, topology_, here, 0));
    how_ = how == 1 ? sums::ordered : sums::library;
    made->set_sums(how_);
    auto const text = to_string(topology_);
    ashlar::detail::require_agreement(
        content_hash(text.data(), text.size()), world_.rank(), world_.size(), "mesh",
        "the ranks give different topologies", [&](reduction op, auto values) {
          ashlar::detail::carry(
              *this, operations_, *made, values,
              flat_all_reduce(static_cast<std::int64_t>(values.size()), axes, topology_, here, op));
        });
    return made;
  }

  /// Creates the transport of a part of a mesh. `from` is the transport of that mesh. This rank has
  /// number `rank` in the part. If `rank` is negative, returns null. `operations` is the part's
  /// queue, which must outlive the transport. Collective over the ranks of `from`.
  std::shared_ptr<ashlar::communicator> make_transport(mesh_part const& part, int rank,
                                                       operation_queue& operations,
                                                       ashlar::communicator& from) {
    auto const& parent = static_cast<communicator&>(from);
    auto const& queue = parent.queue();
    queue->open_crossings();
    auto members = parent.ranks();
    if (rank < 0) {
      members.all->stay_out_of_split();
      return nullptr;
    }
    members.all = std::make_shared<handle>(*members.all, 0, rank, "part " + to_string(part.axes));
    members.here.rank = rank;
    members.here.size = part.axes.ranks();
    int const number = queue->record().add_part(part.axes, part.ranks, rank);
    return std::make_shared<communicator>(queue, members, part.axes, number, operations,
                                          device_kernels(), how_);
  }

  /// Starts this rank's messages of a crossing between two parts of the mesh. They begin when all
  /// operations that were announced before have been given to the device. `shard` has the elements
  /// of box `tile`. All ranks of the two parts must give the same `number`. `c` and `shard` must
  /// outlive the result. Throws ashlar::error during a capture.
  std::unique_ptr<pending_operation> start_crossing(prepared_crossing const& c, box const& tile,
                                                    void* shard, std::size_t element_size,
                                                    int number) {
    return std::make_unique<pending_crossing>(transport_.lock()->queue(), device_kernels(), c, tile,
                                              shard, element_size, number);
  }
  /// Appends the crossing with this number to the order in which this rank gives operations to the
  /// device (turns.hpp).
  void announce_crossing(int number) {
    transport_.lock()->queue()->turns().announce_crossing(number);
  }

  /// Waits until `ended()` is true. Throws ashlar::error if the watchdog has stopped the transport,
  /// or if an exception dropped a transfer.
  template <class Condition>
  void until(Condition ended) const {
    transport_.lock()->queue()->wait_until(ended);  // the mesh that waits keeps the transport alive
  }

  /// Captures the work that `work` gives to the device. `mesh` keeps this backend alive. Throws
  /// ashlar::error if part of the work cannot be captured. In that case, no part of the work has
  /// run.
  template <class Work>
  nccl::graph capture(std::shared_ptr<void> const& mesh, Work const& work) {
    return {mesh, transport_.lock()->queue(), memory_, stream_, work};
  }

  /// Throws ashlar::error if the watchdog has stopped the transport.
  void refuse_if_stopped() const {
    if (auto const own = transport_.lock()) own->queue()->refuse_if_stopped();
  }

 private:
  /// Returns the options of products that the environment asks for. Never throws, for the same
  /// reason as default_settings().
  static cuda::gemm_options product_options() {
    cuda::gemm_options wanted;
    fault_of([&] { wanted = cuda::gemm_options_from_environment(); });
    return wanted;
  }

  nccl::world world_;
  topology topology_;
  sums how_;
  cuda::stream stream_;
  cuda::pool pool_;
  cuda::arena memory_;
  cuda::gemm_engine products_;
  operation_queue operations_;
  std::weak_ptr<communicator> transport_;
};

/// A mesh of ranks with one device each.
using mesh = basic_mesh<cuda::processor>;

}  // namespace nccl

template <>
struct backend_traits<cuda::processor> {
  using type = nccl::backend;
};

}  // namespace ashlar
