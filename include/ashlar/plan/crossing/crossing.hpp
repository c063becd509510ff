// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a tensor crosses from one part of a mesh to another, as data. The ranks of the two parts are
// different. The tensor has a placement on each part, neither of them partial. Its unit tasks
// (unit_task.hpp) are carried in two stages, through which chunks flow:
//
//   between   what a node needs and does not hold comes over its network interface, once, to one of
//             the ranks that need it (entry_of). The ports are the nodes.
//   inside    each rank of a node gets the rest from a rank of the node that holds it, or from the
//             entry rank. The ports are the ranks of one node.
//
// The ranks of a node share its interface. Inside a node, each rank has a link of its own.

#include <vector>

#include <ashlar/machine/machine.hpp>
#include <ashlar/plan/crossing/chunks.hpp>
#include <ashlar/plan/crossing/pipelined_order.hpp>
#include <ashlar/plan/crossing/unit_task.hpp>

namespace ashlar {

struct crossing {
  std::vector<unit_task> tasks;
  port_schedule between;              ///< ports are nodes of the whole mesh
  std::vector<port_schedule> inside;  ///< of each node; port k is rank k of the node
  int chunks = 1;
  double seconds = 0;
  double bound = 0;  ///< seconds; no crossing between these two placements is faster
  friend constexpr bool operator==(crossing const&, crossing const&) = default;
};

namespace detail {

/// The ranks of a mesh by node. Ranks of a node are numbered from 0 in ascending order.
class nodes_of_mesh {
 public:
  constexpr explicit nodes_of_mesh(topology const& whole)
      : ranks_(static_cast<std::size_t>(whole.ranks() / whole.ranks_per_node())),
        node_(static_cast<std::size_t>(whole.ranks())), port_(node_) {
    for (int r = 0; r < whole.ranks(); ++r) {
      int const node = node_of(whole, r);
      node_.data()[r] = node;
      port_.data()[r] = static_cast<int>(ranks_.data()[node].size());
      ranks_.data()[node].push_back(r);
    }
  }
  constexpr int nodes() const { return static_cast<int>(ranks_.size()); }
  constexpr int node(int rank) const { return node_.data()[rank]; }
  constexpr int port(int rank) const { return port_.data()[rank]; }
  constexpr int rank(int node, int port) const { return ranks_.data()[node].data()[port]; }
  constexpr int ranks_in(int node) const { return static_cast<int>(ranks_.data()[node].size()); }

  /// Returns those of `ranks` that are in a node.
  constexpr std::vector<int> in_node(std::vector<int> const& ranks, int node) const {
    std::vector<int> own;
    for (int const r : ranks)
      if (node_.data()[r] == node) own.push_back(r);
    return own;
  }
  /// Returns the numbers of ranks in their nodes.
  constexpr std::vector<int> ports(std::vector<int> ranks) const {
    for (int& r : ranks) r = port(r);
    return ranks;
  }
  /// Returns the nodes of some ascending ranks, ascending, each once.
  constexpr std::vector<int> of(std::vector<int> const& ranks) const {
    std::vector<int> nodes;
    for (int const r : ranks) nodes.push_back(node(r));
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

 private:
  scratch<std::vector<int>> ranks_;
  scratch<int> node_, port_;
};

}  // namespace detail

/// Returns the rank at which a task enters a node: one of the receivers in the node, another one for
/// the next task.
constexpr int entry_of(std::vector<int> const& receivers_in_node, std::size_t task) {
  return receivers_in_node.data()[task % receivers_in_node.size()];
}

/// Tasks of the stages of a crossing that follow from the unit tasks alone.
struct crossing_ports {
  port_problem between;
  std::vector<port_problem> held;  ///< by node: what a rank of the node holds and others of it need
};

constexpr crossing_ports ports_of(std::vector<unit_task> const& tasks, topology const& whole) {
  detail::nodes_of_mesh const nodes(whole);
  crossing_ports p;
  p.between.ports = nodes.nodes();
  for (int n = 0; n < nodes.nodes(); ++n) p.held.push_back({nodes.ranks_in(n), {}});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& t = tasks.data()[i];
    int const unit = static_cast<int>(i);
    port_task out{t.region.elements(), nodes.of(t.owners), {}, unit};
    for (int const node : nodes.of(t.receivers)) {
      auto const owners = nodes.in_node(t.owners, node);
      if (owners.empty()) out.receivers.push_back(node);
      else
        p.held.data()[node].tasks.push_back({t.region.elements(), nodes.ports(owners),
                                             nodes.ports(nodes.in_node(t.receivers, node)), unit});
    }
    if (!out.receivers.empty()) p.between.tasks.push_back(static_cast<port_task&&>(out));
  }
  return p;
}

namespace detail {

/// Appends what each node has to pass on inside: the shares that enter it, from its entry rank to
/// the other receivers.
constexpr void add_entered(std::vector<port_problem>& inside, port_schedule const& between,
                           std::vector<unit_task> const& tasks, nodes_of_mesh const& nodes) {
  for (auto const& share : between.shares)
    for (std::size_t k = 1; k < share.chain.size(); ++k) {
      int const node = share.chain.data()[k];
      auto others = nodes.in_node(tasks.data()[share.task].receivers, node);
      int const entry = entry_of(others, static_cast<std::size_t>(share.task));
      others.erase(std::find(others.begin(), others.end(), entry));
      if (!others.empty())
        inside.data()[node].tasks.push_back(
            {share.size, {nodes.port(entry)}, nodes.ports(others), share.task, share.begin});
    }
}

/// Orders the tasks of a stage. The shares of the result are ranges of unit tasks.
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

/// Returns a bound of the seconds of a crossing with these tasks.
constexpr double bound_of(crossing_ports const& p, machine const& m, int element_size) {
  double bound = double(crossing_bound(p.between)) * m.inter.beta;
  for (auto const& node : p.held)
    bound = std::max(bound, double(crossing_bound(node)) * m.intra.beta);
  return bound * element_size;
}

/// Plans the crossing of a tensor. Expects placements without partial axes, on parts of `whole`
/// without common ranks.
constexpr crossing plan_crossing(shape const& extents, int element_size, mesh_part const& source,
                                 placement const& from, mesh_part const& target,
                                 placement const& to, topology const& whole, machine const& m) {
  crossing c;
  c.tasks = unit_tasks(extents, source, from, target, to);
  auto ports = ports_of(c.tasks, whole);
  c.bound = bound_of(ports, m, element_size);
  auto const stage = [&](port_schedule const& s, link const& l) {
    return crossing_stage{s.hops, double(s.rounds.size()) * l.alpha,
                          double(s.elements()) * element_size * l.beta};
  };
  c.between = detail::ordered(ports.between);
  detail::add_entered(ports.held, c.between, c.tasks, detail::nodes_of_mesh(whole));
  auto const between = stage(c.between, m.inter);
  crossing_stage inside;
  for (auto const& node : ports.held) {
    c.inside.push_back(detail::ordered(node));
    auto const own = stage(c.inside.back(), m.intra);
    inside = {std::max(inside.hops, own.hops), std::max(inside.latency, own.latency),
              std::max(inside.transfer, own.transfer)};
  }
  std::int64_t largest = 1;
  for (auto const& t : c.tasks) largest = std::max(largest, t.region.elements());
  constexpr std::int64_t most = 1 << 16;
  c.chunks = best_chunks(between, inside, static_cast<int>(std::min(largest, most)));
  // No message has more than a GiB, since MPI counts bytes with an int.
  double const gib = double(largest) * element_size / double(1 << 30);
  while (c.chunks < gib) ++c.chunks;
  c.seconds = crossing_seconds(between, inside, c.chunks);
  return c;
}

}  // namespace ashlar
