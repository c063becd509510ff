// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The unit tasks of a crossing between nodes, as tasks of ports: the network interface of a node is
// one port, which all its ranks share. A node that has to receive a region receives it once,
// however many of its ranks need it. A node that holds the region already, because a rank of the
// source is in it, receives nothing.

#include <ashlar/plan/crossing/port_task.hpp>
#include <ashlar/plan/crossing/unit_task.hpp>

namespace ashlar {

namespace detail {

/// Returns the nodes of some ranks, ascending, each once.
constexpr std::vector<int> nodes_of(topology const& whole, std::vector<int> const& ranks) {
  std::vector<int> nodes;
  for (int const r : ranks) nodes.push_back(node_of(whole, r));
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace detail

/// Returns the tasks between nodes. Task i belongs to unit task i, and has size 0 and no receivers
/// if all nodes that need it hold it.
constexpr port_problem node_ports(std::vector<unit_task> const& tasks, topology const& whole) {
  port_problem p;
  p.ports = whole.ranks() / whole.ranks_per_node();
  for (auto const& t : tasks) {
    port_task own{t.region.elements(), detail::nodes_of(whole, t.owners), {}};
    for (int const node : detail::nodes_of(whole, t.receivers))
      if (std::find(own.senders.begin(), own.senders.end(), node) == own.senders.end())
        own.receivers.push_back(node);
    if (own.receivers.empty()) own.size = 0;
    p.tasks.push_back(static_cast<port_task&&>(own));
  }
  return p;
}

}  // namespace ashlar
