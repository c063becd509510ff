// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The one order in which a rank gives its transfers to the device: that of the program, over all groups.
// MPI needs an order within each group only (comm/operation_queue.hpp). On a device all collectives of a rank
// share a stream, so two ranks that gave it two groups' collectives in different orders would wait for
// each other for ever; and steps that follow each other are started whenever the host looks, which is not
// at the same time on all ranks.
//
//   announce   when the program takes a ticket, in program order
//   is_next    whether all announced before have been given to the device
//   give       it has been given to it

#include <cstdint>
#include <deque>

#include <ashlar/comm/operation_queue.hpp>

namespace ashlar::nccl {

class turns {
 public:
  /// The next ticket of this group of axes.
  void announce(axis_list const& axes) {
    auto const group = operation_queue::group_of(axes);
    queue_.push_back({group, ++announced_[group]});
  }
  /// The same, unless this ticket was announced before.
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
