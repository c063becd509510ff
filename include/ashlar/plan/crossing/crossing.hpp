// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a tensor crosses from one part of a mesh to another, as data (plan_crossing.hpp makes it).
// The two parts have no rank in common. The tensor has a placement on each part. Either no
// placement is partial, or both have equally many addends of one reduction. The data of each unit
// task (unit_task.hpp) is cut into chunks, which flow through two stages:
//
//   between   Data that a node needs and does not hold comes over the node's network interface,
//             once, to one of the ranks that need the data: the entry rank. The ports
//             (port_task.hpp) of this stage are the nodes.
//   inside    The other ranks of a node that need data get it from the entry rank, or from a rank
//             of the node that holds it. The ports of this stage are the ranks of one node.
//
// The ranks of a node share its interface. Inside a node, each rank has a link of its own. A
// message costs its latency both on the rank that sends it and on the rank that receives it. So in
// one period, in which a chunk moves on by one hop (port_schedule.hpp), the latency of a stage is
// the latency of a message times the most messages that one rank sends, or that one rank receives.

#include <vector>

#include <ashlar/plan/crossing/port_schedule.hpp>
#include <ashlar/plan/crossing/unit_task.hpp>

namespace ashlar {

/// The rank at which the data of a unit task enters a node.
struct crossing_entry {
  int node = 0, rank = 0;
  friend constexpr bool operator==(crossing_entry const&, crossing_entry const&) = default;
};

struct crossing {
  std::vector<unit_task> tasks;
  std::vector<std::vector<crossing_entry>> entries;  ///< for each task: one per node that it enters
  port_schedule between;                             ///< the ports are the nodes of the whole mesh
  /// The schedule inside each node, whose ports are the ranks of the node.
  std::vector<port_schedule> inside;
  int chunks = 1;
  double seconds = 0;
  double bound = 0;  ///< a lower bound of the seconds of every crossing in these stages
  friend constexpr bool operator==(crossing const&, crossing const&) = default;
};

/// A message of a crossing (transfers.hpp): the elements begin .. begin + size - 1 of a unit task,
/// in row-major order of its region.
struct crossing_transfer {
  int from = 0, to = 0;  ///< ranks of the whole mesh
  int task = 0;
  std::int64_t begin = 0, size = 0;
  int group = 0;  ///< messages of the same group may go at the same time (transfers.hpp)
  friend constexpr bool operator==(crossing_transfer const&, crossing_transfer const&) = default;
};

}  // namespace ashlar
