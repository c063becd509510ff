// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sends the tasks of a crossing (port_task.hpp) in the order in which they are given, each from the
// first of the ports that have it. This is the simplest baseline of the paper on cross-mesh
// resharding (Zhuang et al. 2022).

#include <ashlar/plan/crossing/list_order.hpp>

namespace ashlar {

constexpr list_order naive_order(port_problem const& p) {
  list_order order;
  for (std::size_t i = 0; i < p.tasks.size(); ++i) {
    order.tasks.push_back(static_cast<int>(i));
    order.senders.push_back(p.tasks.data()[i].senders.front());
  }
  order.length = length_of(p, order);
  return order;
}

}  // namespace ashlar
