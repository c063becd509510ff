// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The order in which a rank gives its transfers and crossings to the device: program order over all
// groups of a mesh and of its parts. With MPI, an order within each group is sufficient
// (comm/operation_queue.hpp). On a device, all collectives of a rank share one stream. If two ranks
// gave the collectives of two groups to their streams in different orders, the ranks would
// deadlock. Without this class, the orders could differ: a rank starts the next step of a plan when
// it polls, and ranks poll at different times.
//
//   add_mesh   registers a mesh or a part of a mesh; returns a number for it
//   announce   the program has taken a ticket, or will begin a crossing; called in program order
//   is_next    whether everything that was announced before this operation has been given to the
//              device
//   give       the next transfer or crossing has been given to the device

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include <ashlar/comm/operation_queue.hpp>

namespace ashlar::nccl {

class turns {
 public:
  int add_mesh() {
    announced_.emplace_back();
    return static_cast<int>(announced_.size()) - 1;
  }
  /// Appends the next ticket of this group of axes of a mesh to the order.
  void announce(int mesh, axis_list const& axes) {
    auto const group = set_of(axes);
    queue_.push_back({mesh, group, ++announced(mesh, group)});
  }
  /// Appends this ticket of the group to the order, unless it was appended before.
  void announce(int mesh, axis_list const& axes, std::uint64_t ticket) {
    if (announced(mesh, set_of(axes)) < ticket) announce(mesh, axes);
  }
  /// Appends the crossing with this number to the order, unless the order already contains it.
  void announce_crossing(int number) {
    auto const wanted = turn_of_crossing(number);
    if (std::find(queue_.begin(), queue_.end(), wanted) == queue_.end()) queue_.push_back(wanted);
  }
  bool is_next(int mesh, axis_list const& axes, std::uint64_t ticket) const {
    return is_next({mesh, set_of(axes), ticket});
  }
  bool is_next_crossing(int number) const { return is_next(turn_of_crossing(number)); }
  void give() { queue_.pop_front(); }
  bool all_given() const { return queue_.empty(); }

 private:
  struct turn {
    int mesh;  ///< negative for a crossing
    unsigned group;
    std::uint64_t ticket;  ///< the ticket of the transfer, or the number of the crossing
    friend bool operator==(turn const&, turn const&) = default;
  };
  static turn turn_of_crossing(int number) { return {-1, 0, static_cast<std::uint64_t>(number)}; }
  bool is_next(turn const& t) const { return !queue_.empty() && queue_.front() == t; }
  std::uint64_t& announced(int mesh, unsigned group) {
    return announced_[static_cast<std::size_t>(mesh)][group];
  }

  std::deque<turn> queue_;
  std::vector<std::array<std::uint64_t, 1 << max_axes>> announced_;  // by mesh, group: last ticket
};

}  // namespace ashlar::nccl
