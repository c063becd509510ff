// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The order in which a rank gives its transfers to the device: program order over all groups. With
// MPI, an order within each group is sufficient (comm/operation_queue.hpp). On a device, all
// collectives of a rank share one stream. If two ranks gave the collectives of two groups to their
// streams in different orders, the ranks would deadlock. Without this class, the orders could
// differ: a rank starts the next step of a plan when it polls, and ranks poll at different times.
//
//   announce   the program has taken a ticket; called in program order
//   is_next    whether all transfers announced before have been given to the device
//   give       the next transfer has been given to the device

#include <cstdint>
#include <deque>

#include <ashlar/comm/operation_queue.hpp>

namespace ashlar::nccl {

class turns {
 public:
  /// Appends the next ticket of this group of axes to the order.
  void announce(axis_list const& axes) {
    auto const group = operation_queue::group_of(axes);
    queue_.push_back({group, ++announced_[group]});
  }
  /// Appends this ticket of the group to the order, unless it was appended before.
  void announce(axis_list const& axes, std::uint64_t ticket) {
    if (announced_[operation_queue::group_of(axes)] < ticket) announce(axes);
  }
  bool is_next(axis_list const& axes, std::uint64_t ticket) const {
    return !queue_.empty() && queue_.front().group == operation_queue::group_of(axes) &&
           queue_.front().ticket == ticket;
  }
  void give() { queue_.pop_front(); }
  bool all_given() const { return queue_.empty(); }

 private:
  struct turn {
    unsigned group;
    std::uint64_t ticket;
  };
  std::deque<turn> queue_;
  std::uint64_t announced_[1 << max_axes]{};
};

}  // namespace ashlar::nccl
