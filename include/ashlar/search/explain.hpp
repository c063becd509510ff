// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes a readable report of a plan, 100 columns wide: its cost, the placement of every tensor, and
// the communication.
//
//   std::cout << search::explain(problem, plan, machine);
//
//   plan for node=2,gpu=2 (4 ranks): 1.93 ms a step, 12.1 % of it communication
//     3.20 MiB of memory per rank; it receives 1.25 MiB
//             work   activations     gradients    parameters
//          1.70 ms      106.9 us             -      123.4 us
//
//     element       work      moves      memory  placements
//      0  linear 500.1 us  106.9 us  512.00 KiB  x [S(0),B] -> y [S(0),S(1)]
//         forward     x            all-gather along gpu              512.00 KiB   106.9 us
//
// All figures are for one step on the busiest rank. The bytes of a collective are the most that any
// rank receives. Unless a line says otherwise, a gradient has the placement of its activation, and
// the placement of a stored parameter also holds for its use, its gradient and its update. "new
// weight" is the move of an updated parameter to where it is stored. Repeated blocks are printed
// once; moves that only the first or the last copy has are marked. Local steps (slices and
// zero-pads) are not listed.
//
// Notes above the table of elements point out what is legal but probably not intended. For example,
// a mesh of 7 ranks can train a batch of 8, because splits may be uneven. But then one rank does
// double work. There are three notes:
//
//   no element splits its work along an axis               all ranks of that axis do the same work
//   an axis is longer than every dim                       some of its ranks are idle in any plan
//   a rank has over 1.25 times its even share of work      the other ranks wait for it

#include <ashlar/config.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/search/explanation.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/step/problem.hpp>

#if !ASHLAR_COMPILED
#include <ashlar/search/explain_text.hpp>
#endif

namespace ashlar::search {

#if ASHLAR_COMPILED
namespace detail {
explanation explain_at_run_time(problem const& net, plan const& chosen, machine const& m);
}  // namespace detail
#endif

/// Returns the report of a plan on machine `m`. `chosen` must be a plan of this problem.
template <int N>
explanation explain(basic_problem<N> const& net, basic_plan<N> const& chosen, machine const& m) {
#if ASHLAR_COMPILED
  return detail::explain_at_run_time(any_length(net), with_capacity<dynamic_size>(chosen), m);
#else
  return detail::explain_here(net, chosen, m);
#endif
}

}  // namespace ashlar::search
