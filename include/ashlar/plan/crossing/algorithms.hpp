// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The algorithms that order the tasks of a crossing (port_task.hpp), behind one interface, so that
// programs and tests can compare them:
//
//   name           order                                                  file
//   ours           tasks cut into shares, along chains, in rounds         pipelined_order.hpp
//   depth-first    all orders of whole tasks, with pruning and a limit    depth_first_order.hpp
//   greedy         sets of tasks that go at the same time, drawn by seed  greedy_order.hpp
//   naive          as given, each task from the first port that has it    naive_order.hpp
//   load balance   largest first, each from the port with the least load  balanced_order.hpp
//
// Plans use `ours` (plan_crossing.hpp). The others are those of the paper on cross-mesh resharding
// (Zhuang et al. 2022). They send each task as a whole (list_order.hpp).

#include <cstdint>

#include <ashlar/plan/crossing/balanced_order.hpp>
#include <ashlar/plan/crossing/depth_first_order.hpp>
#include <ashlar/plan/crossing/greedy_order.hpp>
#include <ashlar/plan/crossing/naive_order.hpp>
#include <ashlar/plan/crossing/pipelined_order.hpp>

namespace ashlar {

struct crossing_algorithm {
  char const* name;
  bool cuts_tasks;  ///< whether its order may be shorter than every order of whole tasks
  /// Returns the length of the order that the algorithm makes, in units of time. An element takes
  /// one unit. For `ours`, this is the length without the time to fill the chains.
  std::int64_t (*length)(port_problem const&);
};

inline constexpr crossing_algorithm crossing_algorithms[] = {
    {"ours", true, [](port_problem const& p) { return pipelined_order(p).elements(); }},
    {"depth-first", false, [](port_problem const& p) { return depth_first_order(p).length; }},
    {"greedy", false, [](port_problem const& p) { return greedy_order(p).length; }},
    {"naive", false, [](port_problem const& p) { return naive_order(p).length; }},
    {"load balance", false, [](port_problem const& p) { return balanced_order(p).length; }}};

}  // namespace ashlar
