// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans the crossing of a tensor between two parts of a mesh. The plan says which data has to go
// where (unit tasks), which rank sends it between nodes and inside nodes, in which order, and in
// how many chunks. crossing.hpp describes the result.

#include <algorithm>
#include <vector>

#include <ashlar/machine/machine.hpp>
#include <ashlar/plan/crossing/chunks.hpp>
#include <ashlar/plan/crossing/crossing.hpp>
#include <ashlar/plan/crossing/nodes_of_mesh.hpp>
#include <ashlar/plan/crossing/pipelined_order.hpp>

namespace ashlar {

/// Those port tasks (port_task.hpp) of a crossing that follow from the unit tasks alone. They are
/// all tasks between nodes, and the tasks inside a node for data that the node holds from the
/// start. The other tasks inside nodes, for data from other nodes, follow from the schedule between
/// nodes (add_entered).
struct crossing_ports {
  port_problem between;
  std::vector<std::vector<crossing_entry>> entries;  ///< for each unit task: its entry ranks
  std::vector<port_problem> held;  ///< by node: the tasks of data that its ranks already hold
};

constexpr crossing_ports ports_of(std::vector<unit_task> const& tasks, nodes_of_mesh const& nodes) {
  crossing_ports p;
  p.between.ports = nodes.nodes();
  for (int n = 0; n < nodes.nodes(); ++n) p.held.push_back({nodes.ranks_in(n), {}});
  p.entries.resize(tasks.size());
  scratch<std::size_t> entered(static_cast<std::size_t>(nodes.nodes()));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& t = tasks.data()[i];
    int const unit = static_cast<int>(i);
    port_task out{t.region.elements(), nodes.of(t.owners), {}, unit};
    for (int const node : nodes.of(t.receivers)) {
      auto const owners = nodes.in_node(t.owners, node);
      auto const receivers = nodes.in_node(t.receivers, node);
      if (!owners.empty()) {
        p.held.data()[node].tasks.push_back(
            {t.region.elements(), nodes.ports(owners), nodes.ports(receivers), unit});
        continue;
      }
      // Successive tasks that enter a node take different entry ranks, in turn.
      out.receivers.push_back(node);
      p.entries.data()[i].push_back(
          {node, receivers.data()[entered.data()[node]++ % receivers.size()]});
    }
    if (!out.receivers.empty()) p.between.tasks.push_back(static_cast<port_task&&>(out));
  }
  return p;
}

namespace detail {

constexpr int entry_of(crossing const& c, int task, int node) {
  auto const& entries = c.entries.data()[task];
  std::size_t k = 0;
  while (entries.data()[k].node != node) ++k;
  return entries.data()[k].rank;
}

/// Returns the ranks along the chain of share `i` between nodes: an owner in the first node of the
/// chain, then the entry rank of each further node. Successive shares take the owners in turn.
constexpr std::vector<int> ranks_between(crossing const& c, std::size_t i,
                                         nodes_of_mesh const& nodes) {
  auto const& share = c.between.shares.data()[i];
  auto const owners = nodes.in_node(c.tasks.data()[share.task].owners, share.chain.front());
  std::vector<int> ranks{owners.data()[i % owners.size()]};
  for (std::size_t k = 1; k < share.chain.size(); ++k)
    ranks.push_back(entry_of(c, share.task, share.chain.data()[k]));
  return ranks;
}

/// Returns the most messages that one rank sends, or receives, in one period of schedule `s`.
/// chain(i) returns the ranks along the chain of share i, numbered below `ranks`.
template <class Chain>
constexpr int most_messages(port_schedule const& s, int ranks, Chain const& chain) {
  scratch<int> sends(static_cast<std::size_t>(ranks)), receives(sends);
  scratch<std::vector<int>> chains(s.shares.size());
  for (std::size_t i = 0; i < s.shares.size(); ++i) chains.data()[i] = chain(i);
  int most = 0;
  for (auto const& r : s.rounds)
    for (auto const& piece : r.pieces) {
      auto const* const along = chains.data()[piece.share].data() + piece.hop;
      most = std::max({most, ++sends.data()[along[0]], ++receives.data()[along[1]]});
    }
  return most;
}

/// Appends to `inside` the tasks by which each node passes on the shares that enter it: from the
/// entry rank to the other receivers of the node.
constexpr void add_entered(std::vector<port_problem>& inside, crossing const& c,
                           nodes_of_mesh const& nodes) {
  for (auto const& share : c.between.shares)
    for (std::size_t k = 1; k < share.chain.size(); ++k) {
      int const node = share.chain.data()[k];
      auto others = nodes.in_node(c.tasks.data()[share.task].receivers, node);
      int const entry = entry_of(c, share.task, node);
      others.erase(std::find(others.begin(), others.end(), entry));
      if (!others.empty())
        inside.data()[node].tasks.push_back(
            {share.size, {nodes.port(entry)}, nodes.ports(others), share.task, share.begin});
    }
}

/// Orders the port tasks of a stage (port_task.hpp). A port task is a piece of a unit task. The
/// shares of the result name the unit task, and their ranges are positions in the unit task.
constexpr port_schedule ordered(port_problem const& p) {
  auto schedule = pipelined_order(p);
  for (auto& share : schedule.shares) {
    auto const& t = p.tasks.data()[share.task];
    share.task = t.unit;
    share.begin += t.begin;
  }
  return schedule;
}

}  // namespace detail

/// Returns a lower bound of the seconds of every crossing with these tasks.
constexpr double bound_of(crossing_ports const& p, machine const& m, int element_size) {
  double bound = double(least_elements(p.between)) * m.inter.beta;
  for (auto const& node : p.held)
    bound = std::max(bound, double(least_elements(node)) * m.intra.beta);
  return bound * element_size;
}

/// Plans the crossing of a tensor between two parts of a mesh. Expects placements that unit_tasks
/// accepts, and parts that have no rank in common. `nodes` has the nodes of the whole mesh.
/// `chunks` is the number of chunks; 0: the number that costs least. The result has at most 2^16
/// chunks, and at most as many as the largest task has elements, unless a message would then have
/// more than a GiB.
constexpr crossing plan_crossing(shape const& extents, int element_size, mesh_part const& source,
                                 placement const& from, mesh_part const& target,
                                 placement const& to, nodes_of_mesh const& nodes, machine const& m,
                                 int chunks = 0) {
  crossing c;
  c.tasks = unit_tasks(extents, source, from, target, to);
  auto ports = ports_of(c.tasks, nodes);
  c.bound = bound_of(ports, m, element_size);
  c.entries = ports.entries;
  auto const stage = [&](port_schedule const& s, int messages, link const& l) {
    return crossing_stage{s.hops, messages * l.alpha, double(s.elements()) * element_size * l.beta};
  };
  c.between = detail::ordered(ports.between);
  detail::add_entered(ports.held, c, nodes);
  auto const between = stage(
      c.between,
      detail::most_messages(c.between, nodes.ranks(),
                            [&](std::size_t i) { return detail::ranks_between(c, i, nodes); }),
      m.inter);
  crossing_stage inside;
  for (auto const& node : ports.held) {
    c.inside.push_back(detail::ordered(node));
    auto const& order = c.inside.back();
    auto const own = stage(
        order,
        detail::most_messages(order, node.ports,
                              [&](std::size_t i) { return order.shares.data()[i].chain; }),
        m.intra);
    inside = {std::max(inside.hops, own.hops), std::max(inside.latency, own.latency),
              std::max(inside.transfer, own.transfer)};
  }
  std::int64_t largest = 1;
  for (auto const& t : c.tasks) largest = std::max(largest, t.region.elements());
  constexpr std::int64_t most = 1 << 16;
  int const pieces = static_cast<int>(std::min(largest, most));
  c.chunks = chunks > 0 ? std::min(chunks, pieces) : best_chunks(between, inside, pieces);
  // No message has more than a GiB, since MPI counts bytes with an int.
  double const gib = double(largest) * element_size / double(1 << 30);
  while (c.chunks < gib) ++c.chunks;
  c.seconds = crossing_seconds(between, inside, c.chunks);
  return c;
}

}  // namespace ashlar
