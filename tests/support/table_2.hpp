// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The nine cases of table 2 of the paper on cross-mesh resharding. Each case has the placements
// before and after, the nodes that send and receive, the expected number of unit tasks, and the
// expected times. Placements are along the axes (node, gpu). The order of the axes in the paper's
// S^01 is expressed by shard depths.

#include <cstddef>
#include <vector>

#include <ashlar/mesh/mesh_part.hpp>

namespace ashlar_test {

struct case_of_table_2 {
  char const *from, *to;
  int send[2], receive[2];  ///< number of nodes, and number of devices on each node
  std::size_t tasks;
  double naive, balanced, bound;  ///< in units of the time in which one node sends the tensor
};

inline case_of_table_2 const table_2[] = {
    {"S(0),B", "S(0),B", {2, 4}, {2, 4}, 2, 1. / 2, 1. / 2, 1. / 2},
    {"B,B", "S(0),B", {2, 4}, {2, 4}, 2, 1, 1. / 2, 1. / 2},
    {"S(1),B", "S(0),B", {2, 4}, {2, 4}, 4, 3. / 4, 3. / 4, 1. / 2},
    {"S(1),S(1)", "S(0),S(0)", {2, 4}, {2, 4}, 64, 15. / 16, 15. / 16, 1. / 2},
    {"B,S(0)", "S(0),B", {2, 4}, {2, 4}, 4, 1, 3. / 4, 1. / 2},
    {"S(0),B", "S(0),B", {2, 4}, {3, 4}, 4, 1, 2. / 3, 1. / 2},
    {"B,S(0)", "B,B", {1, 4}, {2, 4}, 4, 1, 1, 1},
    {"B,B", "B,B", {2, 3}, {3, 2}, 1, 1, 1, 1},
    {"S(1),B", "S(2),B", {2, 4}, {2, 4}, 4, 3. / 4, 3. / 4, 1. / 2},
};

/// Returns the first `used` ranks of each of `nodes` consecutive nodes, beginning with node
/// `first`.
inline std::vector<int> ranks_of_nodes(ashlar::topology const& whole, int first, int nodes,
                                       int used) {
  std::vector<int> ranks;
  for (int n = first; n < first + nodes; ++n)
    for (int d = 0; d < used; ++d) ranks.push_back(n * whole.ranks_per_node() + d);
  return ranks;
}

/// Returns the part of a mesh that consists of the ranks of ranks_of_nodes(), with axes node and
/// gpu.
inline ashlar::mesh_part some_nodes(ashlar::topology const& whole, int first, int nodes, int used) {
  return part_of(whole, ranks_of_nodes(whole, first, nodes, used),
                 {{"node", nodes}, {"gpu", used}});
}

}  // namespace ashlar_test
