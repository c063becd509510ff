// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pending crossing between two parts of a mesh of GPUs. It runs concurrently with the program.
// When its turn has come (turns.hpp), this rank's messages are given to the device, on the stream
// of crossings (crossing_lane.hpp).
//
//   begin      after all earlier work of the compute stream, which may have written the shard or
//              used its memory
//   advance    returns true when the device has ended this rank's messages
//   join       orders later work of the compute stream after the messages; the host does not wait
//   is_queued  false: the stream of transfers does not wait for crossings
//   destroyed  joins, so that the shard's memory can then be released in the order of the compute
//              stream; during stack unwinding the mesh is abandoned instead
//
// A crossing cannot be captured in a graph.

#include <ashlar/comm/nccl/device_queue.hpp>
#include <ashlar/comm/nccl/issue_crossing.hpp>
#include <ashlar/comm/nccl/library_calls.hpp>
#include <ashlar/support/exception_watch.hpp>

namespace ashlar::nccl {

class pending_crossing final : public pending_operation {
 public:
  /// The parameters are those of backend::start_crossing.
  pending_crossing(std::shared_ptr<device_queue> queue, transfer_kernels const& kernels,
                   prepared_crossing const& c, box const& tile, void* shard,
                   std::size_t element_size, int number)
      : queue_(std::move(queue)), kernels_(kernels), crossing_(&c), tile_(tile),
        shard_(static_cast<std::byte*>(shard)), size_(element_size), turn_(number) {
    if (queue_->is_captured())
      throw error("capture", "a tensor cannot cross to another part of the mesh within a captured "
                             "part. Run a pipeline without a graph.");
    queue_->operations().refuse_if_abandoned();
    queue_->turns().announce_crossing(turn_);
    queue_->operations().begin(*this, [&] { is_given(); });
  }
  pending_crossing(pending_crossing const&) = delete;
  pending_crossing& operator=(pending_crossing const&) = delete;
  ~pending_crossing() override {
    auto& operations = queue_->operations();
    if (!watch_.is_passing() && !operations.is_abandoned() && !queue_->has_stopped()) try {
        queue_->wait_until([&] { return join(); });
      } catch (...) {  // the next transfer reports that the mesh is abandoned
      }
    if (!is_joined_) operations.abandon();
    operations.remove(*this);
  }

  bool advance() override {
    return is_joined_ || (is_given() && queue_->flight().has_ended(number_));
  }
  bool join() override {
    if (is_joined_) return true;
    if (!is_given()) return false;
    queue_->flight().follow(number_, queue_->compute());
    return is_joined_ = true;
  }

 private:
  /// Gives the messages to the device if their turn has come. Returns whether they have been given.
  bool is_given() {
    if (number_ == 0 && queue_->turns().is_next_crossing(turn_)) give();
    return number_ != 0;
  }
  void give() {
    queue_->refuse_if_stopped();
    auto& lane = queue_->crossings();
    queue_->follow_compute(lane.stream());
    auto const& plan = crossing_->plan;
    auto const number = queue_->record().began("a crossing between two parts",
                                               queue_->both_parts(plan.source, plan.target));
    for_each_group(*crossing_, [&](message_group const& group) {
      library_calls calls(lane.comm(), 0, carrier_of(size_), lane.memory(), lane.stream(), kernels_,
                          {queue_->ranks().rank(), "", "a crossing between two parts"});
      issue_messages(group, plan.across.tasks, tile_, shard_, size_, calls);
    });
    queue_->flight().add(number, lane.stream(), nullptr);
    queue_->turns().give();
    number_ = number;
  }

  std::shared_ptr<device_queue> queue_;
  transfer_kernels kernels_;
  prepared_crossing const* crossing_;
  box tile_;
  std::byte* shard_;
  std::size_t size_;
  int turn_;                  // the number of the crossing
  std::uint64_t number_ = 0;  // number in the flight record; 0 until the messages are given
  bool is_joined_ = false;
  exception_watch watch_;
};

}  // namespace ashlar::nccl
