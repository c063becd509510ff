// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pending transfer of the communicator on GPUs (communicator.hpp). It was started and runs
// concurrently with the program.
//
//   its turn comes        the next call that advances transfers gives it to the device
//   destroyed too early   the destructor orders later work after it, like join(); during stack
//                         unwinding the transfer is dropped instead, and the mesh is abandoned
//   captured              only work inside the capture may wait for it
//
// `Owner` is the communicator, which declares this class a friend.

#include <cstdint>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/support/exception_watch.hpp>

namespace ashlar::nccl {

template <class Owner>
class pending_transfer final : public pending_operation {
 public:
  pending_transfer(Owner& owner, transfer_request const& s) : owner_(&owner), request_(s) {
    owner.operations_.add(*this);
  }
  ~pending_transfer() override {
    auto& operations = owner_->operations_;
    if (!watch_.is_passing() && !operations.is_abandoned() && !queue().has_stopped()) try {
        queue().wait_until([&] { return join(); });
      } catch (...) {  // the next transfer reports that the mesh is abandoned
      }
    if (!done_) operations.abandon();
    operations.remove(*this);
  }

  bool advance() override {
    if (done_) return true;
    if (!is_given() || queue().is_captured()) return false;
    refuse_if_of_a_capture();
    return done_ = queue().flight().has_ended(number_);
  }
  bool join() override {
    if (done_) return true;
    if (!is_given()) return false;
    if (!queue().is_captured()) refuse_if_of_a_capture();
    queue().flight().follow(number_, queue().compute());
    return done_ = true;
  }
  bool is_queued() const override { return number_ != 0; }

 private:
  auto& queue() const { return *owner_->queue_; }

  /// Gives the transfer to the device if its turn has come. Returns whether it has been given.
  bool is_given() {
    bool const has_turn = request_.ticket == 0 ||
                          queue().turns().is_next(owner_->turn_, request_.what->axes,
                                                  request_.ticket);
    if (number_ == 0 && has_turn) {
      number_ = owner_->give(request_, nullptr);
      is_of_a_capture_ = queue().is_captured();
    }
    return number_ != 0;
  }
  void refuse_if_of_a_capture() const {
    if (is_of_a_capture_)
      throw error("capture",
                  "a redistribution that was captured has not run: wait for it within the "
                  "captured part.");
  }

  Owner* owner_;
  transfer_request request_;
  std::uint64_t number_ = 0;
  bool done_ = false;
  bool is_of_a_capture_ = false;
  exception_watch watch_;
};

}  // namespace ashlar::nccl
