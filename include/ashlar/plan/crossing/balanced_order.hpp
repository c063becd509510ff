// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sends the tasks of a crossing (port_task.hpp) in the order of their sizes, largest first. Of the
// ports that have a task, the port that has to send least so far sends it ("load balance only" in
// the paper on cross-mesh resharding).

#include <ashlar/plan/crossing/list_order.hpp>

namespace ashlar {

constexpr list_order balanced_order(port_problem const& p) {
  list_order order;
  order.senders.resize(p.tasks.size());
  for (std::size_t i = 0; i < p.tasks.size(); ++i) {
    // Insertion sort keeps tasks of equal size in the given order and works in constant
    // expressions.
    auto at = order.tasks.end();
    while (at != order.tasks.begin() && p.tasks.data()[*(at - 1)].size < p.tasks.data()[i].size)
      --at;
    order.tasks.insert(at, static_cast<int>(i));
  }
  scratch<std::int64_t> load(static_cast<std::size_t>(p.ports));
  for (int const i : order.tasks) {
    auto const& t = p.tasks.data()[i];
    int least = t.senders.front();
    for (int const s : t.senders)
      if (load.data()[s] < load.data()[least]) least = s;
    load.data()[least] += t.size;
    order.senders.data()[i] = least;
  }
  order.length = length_of(p, order);
  return order;
}

}  // namespace ashlar
