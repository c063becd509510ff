// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An order of the tasks of a crossing (port_task.hpp). One port sends a task as a whole. A task
// begins when its sender has sent all its earlier tasks and each receiver has received all its
// earlier tasks. A task takes as many units of time as it has elements. This is the schedule of the
// paper on cross-mesh resharding (section 3.2, formula 3).

#include <cstdint>
#include <vector>

#include <ashlar/plan/crossing/port_task.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

struct list_order {
  std::vector<int> tasks;    ///< in the order in which they are sent
  std::vector<int> senders;  ///< senders[i] is the port that sends task i of the problem
  std::int64_t length = 0;   ///< units of time; one element takes one unit
  friend constexpr bool operator==(list_order const&, list_order const&) = default;
};

namespace detail {

/// The times at which ports become free while tasks are appended to a list order.
class port_clock {
 public:
  constexpr explicit port_clock(int ports)
      : sends_(static_cast<std::size_t>(ports)), receives_(sends_) {}

  /// Appends a task, sent by port `sender`, and returns the time at which the task ends.
  constexpr std::int64_t append(port_task const& t, int sender) {
    std::int64_t begin = sends_.data()[sender];
    for (int const r : t.receivers) begin = std::max(begin, receives_.data()[r]);
    std::int64_t const end = begin + t.size;
    sends_.data()[sender] = end;
    for (int const r : t.receivers) receives_.data()[r] = end;
    return end;
  }
  constexpr std::int64_t sends_until(int port) const { return sends_.data()[port]; }
  constexpr std::int64_t receives_until(int port) const { return receives_.data()[port]; }

 private:
  scratch<std::int64_t> sends_, receives_;
};

}  // namespace detail

/// Returns the length of a list order, in units of time, computed from its tasks and senders.
constexpr std::int64_t length_of(port_problem const& p, list_order const& order) {
  detail::port_clock clock(p.ports);
  std::int64_t length = 0;
  for (int const i : order.tasks)
    length = std::max(length, clock.append(p.tasks.data()[i], order.senders.data()[i]));
  return length;
}

}  // namespace ashlar
