// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A mesh of ranks with a device each, on NCCL (comm/backend.hpp says what its members are for).
//
//   ashlar::nccl::environment env(argc, argv);
//   ashlar::nccl::mesh mesh(env.world(), {{"node", 2}, {"gpu", 4}});
//
// Everything of a mesh is on one stream, its transfers on another beside it; the host runs ahead of both.
// It waits where values come to it: in an all-reduce of values of its own, and for a barrier.

#include <algorithm>
#include <memory>
#include <span>

#include <ashlar/comm/mesh.hpp>
#include <ashlar/comm/nccl/communicator.hpp>
#include <ashlar/comm/nccl/device_kernels.hpp>
#include <ashlar/device/cuda/operations.hpp>

namespace ashlar {
namespace nccl {

/// Device memory as tensors ask for it: in the order of the mesh's stream.
class device_memory {
 public:
  explicit device_memory(cudaStream_t stream) : stream_(stream) {}

  /// Never null, so that a shard of no elements is one.
  void* allocate(std::size_t bytes) {
    return pool_.allocate(static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)), stream_,
                          "a tensor or a workspace");
  }
  void release(void* block, std::size_t) { cuda::pool::release(block, stream_); }

  cuda::pool& pool() { return pool_; }
  std::size_t bytes_in_use() const { return pool_.statistics().used; }
  std::size_t peak_bytes() const { return pool_.statistics().used_peak; }

 private:
  cuda::pool pool_;
  cudaStream_t stream_;
};

class backend {
 public:
  using world = nccl::world;
  using settings = sums;

  /// Expects: as many ranks in `w` as in `t`.
  backend(nccl::world const& w, topology const& t, sums how)
      : world_(w), topology_(t), how_(how), memory_(stream_),
        products_(memory_.pool(), stream_, cuda::gemm_options_from_environment()) {}
  backend(backend const&) = delete;
  backend& operator=(backend const&) = delete;

  static int rank_in(nccl::world const& w) { return w.rank(); }
  static int size_of(nccl::world const& w) { return w.size(); }
  static sums default_settings() { return sums_from_environment(); }

  cuda::processor processor() { return {stream_.get(), &products_}; }
  device_memory& memory() { return memory_; }
  progress& order() { return order_; }
  std::shared_ptr<ashlar::communicator> make_transport() {
    auto made = std::make_shared<communicator>(world_, topology_, order_, stream_, memory_.pool(),
                                               device_kernels(), how_);
    transport_ = made;
    return made;
  }

  /// Throws ashlar::error if the watchdog has stopped the transport, or an exception dropped a transfer.
  template <class Condition>
  void until(Condition ended) const {
    transport_.lock()->wait_until(ended);  // the mesh that waits has it
  }

  template <class T>
  void reduce(ashlar::communicator& transport, std::span<T> values, transfer const& what) {
    auto const count = static_cast<std::int64_t>(values.size());
    cuda::array<T> source(memory_.pool(), count, stream_, "values of the host");
    cuda::array<T> target(memory_.pool(), count, stream_, "values of the host");
    source.copy_from(values.data());
    transport.run(
        {&what, element_type_of<T>, source.data(), target.data(), order_.take_ticket(what.axes)});
    target.copy_to(values.data());
    stream_.synchronize();
    // A communicator that was taken down ends what it was at with no result.
    if (auto const own = transport_.lock()) own->refuse_if_stopped();
  }

 private:
  nccl::world world_;
  topology topology_;
  sums how_;
  cuda::stream stream_;
  device_memory memory_;
  cuda::gemm_engine products_;
  progress order_;
  std::weak_ptr<communicator> transport_;
};

/// A mesh of ranks with a device each.
using mesh = basic_mesh<cuda::processor>;

}  // namespace nccl

template <>
struct backend_traits<cuda::processor> {
  using type = nccl::backend;
};

}  // namespace ashlar
