// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The backend of a mesh for ranks with one device each, on NCCL. comm/backend.hpp describes the
// members of a backend.
//
//   ashlar::nccl::environment env(argc, argv);
//   ashlar::nccl::mesh mesh(env.world(), {{"node", 2}, {"gpu", 4}});
//
// All computations of a mesh are on one CUDA stream, and its transfers are on a second one. The
// host gives work to both streams without waiting for results. The host waits only where it needs
// values, as in all-reduces of host values, and in barriers.

#include <memory>

#include <ashlar/comm/mesh.hpp>
#include <ashlar/comm/nccl/communicator.hpp>
#include <ashlar/comm/nccl/device_kernels.hpp>
#include <ashlar/comm/nccl/graph.hpp>
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
        products_(pool_, stream_, cuda::gemm_options_from_environment()) {}
  backend(backend const&) = delete;
  backend& operator=(backend const&) = delete;

  static int rank_in(nccl::world const& w) { return w.rank(); }
  static int size_of(nccl::world const& w) { return w.size(); }
  static sums default_settings() { return sums_from_environment(); }

  cuda::processor processor() { return {stream_.get(), &products_}; }
  /// Returns the device memory. Released blocks are reused in the order of the compute stream.
  cuda::arena& memory() { return memory_; }
  operation_queue& operations() { return operations_; }
  watch::flight_record& record() { return transport_.lock()->record(); }
  /// Gives the transport the mesh's watchdog.
  void explain_by(std::shared_ptr<watch::watchdog> const& mesh) {
    transport_.lock()->explain_by(mesh);
  }
  std::shared_ptr<ashlar::communicator> make_transport() {
    auto made = std::make_shared<communicator>(world_, topology_, operations_, stream_, pool_,
                                               device_kernels(), how_);
    transport_ = made;
    return made;
  }

  /// Throws ashlar::error.
  std::unique_ptr<pending_operation> start_crossing(prepared_crossing const&, box const&, void*,
                                                    std::size_t, int) {
    throw error("mesh", "tensors do not cross between parts of a mesh of GPUs yet.");
  }

  /// Waits until `ended()` is true. Throws ashlar::error if the watchdog has stopped the transport,
  /// or if an exception dropped a transfer.
  template <class Condition>
  void until(Condition ended) const {
    transport_.lock()->wait_until(ended);  // the mesh that waits keeps the transport alive
  }

  /// Captures the work that `work` gives to the device. `mesh` keeps this backend alive. Throws
  /// ashlar::error if part of the work cannot be captured. In that case, no part of the work has
  /// run.
  template <class Work>
  nccl::graph capture(std::shared_ptr<void> const& mesh, Work const& work) {
    return {mesh, transport_.lock(), memory_, stream_, work};
  }

  /// Throws ashlar::error if the watchdog has stopped the transport.
  void refuse_if_stopped() const {
    if (auto const own = transport_.lock()) own->refuse_if_stopped();
  }

 private:
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
