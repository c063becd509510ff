// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transport on GPUs. NCCL carries transfers between arrays in device memory (issue.hpp), on a
// CUDA stream that is separate from the compute stream.
//
//   run       Orders the transfer after all earlier work of the compute stream and before all
//             later work. The host does not wait for the transfer.
//   start     Orders the transfer after all earlier work of the compute stream. Later work overlaps
//             with it until join.
//   advance   Gives the transfer to the device if its turn has come (turns.hpp). Returns true when
//             the device has ended the transfer.
//   join      Orders later work of the compute stream after the transfer. The host does not wait
//             for the transfer.
//   barrier   The host waits for all ranks and for its own device.
//   captured  During a capture no transfer begins. Transfers are captured together with the compute
//             stream's work and run in each replay (graph.hpp).
//
// A mesh and each of its parts have a transport of their own, with communicators of their own.
// These transports share the queue of the rank's device (device_queue.hpp), which has the stream
// and the order of all transfers. A function of this class throws if the watchdog has found a
// fault.

#include <memory>
#include <tuple>
#include <utility>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/nccl/device_queue.hpp>
#include <ashlar/comm/nccl/library_calls.hpp>
#include <ashlar/comm/nccl/pending_transfer.hpp>
#include <ashlar/comm/nccl/settings.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nccl {

class communicator final : public ashlar::communicator {
 public:
  /// The transport of a whole mesh. `w` must have as many ranks as `t`. `compute` is the stream
  /// whose work writes and reads the arrays. All arguments passed by reference must outlive this
  /// object.
  communicator(world const& w, topology const& t, operation_queue& operations,
               cuda::stream& compute, cuda::pool& pool, transfer_kernels const& kernels,
               sums how = sums_from_environment())
      : communicator(std::make_shared<device_queue>(w, t, operations, compute, pool), w, t, 0,
                     operations, kernels, how) {}
  /// The transport of a part of a mesh. The mesh and its parts share `queue`, but `operations` is
  /// the part's own. `members` are the ranks of the part, and `number` is the number of the part in
  /// the flight record.
  communicator(std::shared_ptr<device_queue> queue, world const& members, topology const& t,
               int number, operation_queue& operations, transfer_kernels const& kernels, sums how)
      : queue_(std::move(queue)), world_(members), topology_(t), number_(number),
        operations_(operations), kernels_(kernels), how_(how), turn_(queue_->turns().add_mesh()),
        groups_(members, t) {
    queue_->watch_over(groups_);
  }

  ~communicator() override {
    queue_->end_work();
    queue_->forget(groups_);
  }

  std::shared_ptr<device_queue> const& queue() const { return queue_; }
  world const& ranks() const { return world_; }
  /// Sets the method of sums, which must be the same on all ranks. No transfer may be pending.
  void set_sums(sums how) { how_ = how; }

  void open(axis_list const& axes) override {
    queue_->turns().announce(turn_, axes);
    if (topology_.group_size(axes) > 1) groups_.of(axes);
  }

  void run(transfer_request const& s) override {
    queue_->turns().announce(turn_, s.what->axes, s.ticket);
    try {
      queue_->wait_until([&] { return queue_->turns().is_next(turn_, s.what->axes, s.ticket); });
      give(s, &queue_->compute());
    } catch (...) {
      operations_.abandon();
      throw;
    }
  }

  std::unique_ptr<pending_operation> start(transfer_request const& s) override {
    queue_->turns().announce(turn_, s.what->axes, s.ticket);
    auto pending = std::make_unique<pending_transfer<communicator>>(*this, s);
    pending->advance();
    return pending;
  }

  bool is_captured() const override { return queue_->is_captured(); }

  void barrier() override {
    cuda::refuse_if_capturing(queue_->compute(), "barrier",
                              "a barrier waits for other ranks' hosts.");
    queue_->wait_until([&] { return queue_->turns().all_given(); });
    auto const meeting = flat_all_reduce(1, all_axes(topology_.axes()), topology_,
                                         topology_.coordinates_of(world_.rank()), reduction::max);
    buffer<std::int32_t> const word(queue_->memory(), 1);
    cuda::check(cudaMemsetAsync(word.data(), 0, sizeof(std::int32_t), queue_->transfers()),
                "cudaMemsetAsync");
    std::uint64_t const number = put({&meeting, element_type::i32, word.data(), word.data()},
                                     nullptr, "a barrier");
    queue_->wait_until([&] { return queue_->flight().has_ended(number); });
    queue_->compute().synchronize();
  }

 private:
  friend class pending_transfer<communicator>;

  /// Gives a transfer to the device. The turn of the transfer must have come. If `follower` is not
  /// null, orders later work of that stream after the transfer. Returns the number of the
  /// operation.
  std::uint64_t give(transfer_request const& s, cuda::stream* follower) {
    auto const number = put(s, follower);
    if (s.ticket == 0) return number;
    queue_->turns().give();
    operations_.end(s.what->axes);
    return number;
  }

  /// Gives the device a transfer, or an operation `name` that is not a transfer of the program,
  /// such as a barrier. Returns the number of the operation.
  std::uint64_t put(transfer_request const& s, cuda::stream* follower, char const* name = nullptr) {
    auto const& [x, type, source, target] = std::tie(*s.what, s.type, s.source, s.target);
    auto& stream = queue_->transfers();
    queue_->refuse_if_stopped();
    queue_->follow_compute(stream);
    auto const number = queue_->next_number([&] {
      return name != nullptr ? queue_->record().began(name, number_)
                             : queue_->record().began(s, number_);
    });
    if (communicates(x.kind)) {
      call_site where{queue_->ranks().rank(), to_string(x.axes, topology_), to_string(x.kind)};
      auto& group = x.members > 1 ? groups_.of(x.axes) : *world_.all;
      library_calls calls(group, x.members, type, queue_->memory(), stream, kernels_,
                          std::move(where));
      issue(x, type, source, target, how_, calls);
    } else {
      stay(x, type, static_cast<std::byte const*>(source), static_cast<std::byte*>(target));
    }
    queue_->flight().add(number, stream, follower);
    return number;
  }

  /// Carries out a local step (slice or zero_pad).
  void stay(transfer const& x, element_type type, std::byte const* source, std::byte* target) {
    if (x.pads) kernels_.fill(type, x.op, target, x.to.elements(), queue_->transfers());
    for (auto const& block : x.receives)
      kernels_.copy(static_cast<int>(size_of(type)), block, source, target, queue_->transfers());
  }

  std::shared_ptr<device_queue> queue_;
  world world_;  // rank, size and communicator of the members
  topology topology_;
  int number_;  // the number of this part in the flight record
  operation_queue& operations_;
  transfer_kernels kernels_;
  sums how_;
  int turn_;  // the number of this mesh or part in the turns
  groups groups_;
};

}  // namespace ashlar::nccl
