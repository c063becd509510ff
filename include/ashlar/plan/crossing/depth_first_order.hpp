// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches all orders of the tasks of a crossing (port_task.hpp), and all choices of their senders,
// by depth-first search with pruning (paper on cross-mesh resharding, section 3.2). A partial
// order, which contains some of the tasks, is not continued if, for some port, one of these sums is
// as large as the best known length or larger:
//
//   the time until which the port receives, plus the sizes of the remaining tasks for this port
//   the time until which the port sends, plus the sizes of the remaining tasks that only this port
//   can send
//
// The search stops after `most` partial orders, and not after a time limit, so that its result does
// not depend on the machine's speed. If the search has not stopped early, its result is a shortest
// order.

#include <ashlar/plan/crossing/balanced_order.hpp>

namespace ashlar {

namespace detail {

class depth_first_search {
 public:
  constexpr depth_first_search(port_problem const& p, std::int64_t most)
      : problem_(p), left_(most), best_(balanced_order(p)), done_(p.tasks.size()),
        to_receive_(static_cast<std::size_t>(p.ports)), to_send_(to_receive_) {
    now_.senders.resize(p.tasks.size());
    for (auto const& t : p.tasks) charge(t, t.size);
  }

  constexpr list_order run() {
    visit(port_clock(problem_.ports), 0);
    return best_;
  }

 private:
  constexpr void charge(port_task const& t, std::int64_t size) {
    for (int const r : t.receivers) to_receive_.data()[r] += size;
    if (t.senders.size() == 1) to_send_.data()[t.senders.front()] += size;
  }

  constexpr bool may_improve(port_clock const& clock) const {
    for (int h = 0; h < problem_.ports; ++h)
      if (clock.receives_until(h) + to_receive_.data()[h] >= best_.length ||
          clock.sends_until(h) + to_send_.data()[h] >= best_.length)
        return false;
    return true;
  }

  constexpr void visit(port_clock const& clock, std::int64_t length) {
    if (now_.tasks.size() == problem_.tasks.size()) {
      if (length < best_.length) {
        best_ = now_;
        best_.length = length;
      }
      return;
    }
    if (!may_improve(clock)) return;
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      if (done_.data()[i]) continue;
      auto const& t = problem_.tasks.data()[i];
      done_.data()[i] = true;
      now_.tasks.push_back(static_cast<int>(i));
      charge(t, -t.size);
      for (int const s : t.senders) {
        if (--left_ <= 0) break;
        port_clock after = clock;
        now_.senders.data()[i] = s;
        auto const end = after.append(t, s);
        visit(after, end > length ? end : length);
      }
      charge(t, t.size);
      now_.tasks.pop_back();
      done_.data()[i] = false;
      if (left_ <= 0) return;
    }
  }

  port_problem const& problem_;
  std::int64_t left_;
  list_order best_, now_;
  scratch<bool> done_;
  scratch<std::int64_t> to_receive_, to_send_;  ///< by port: elements of tasks not yet in the order
};

}  // namespace detail

constexpr list_order depth_first_order(port_problem const& p, std::int64_t most = 200'000) {
  return detail::depth_first_search(p, most).run();
}

}  // namespace ashlar
