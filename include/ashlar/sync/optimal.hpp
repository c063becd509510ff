// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the strategies of a plan's parameters with which a step takes the fewest seconds:
//
//   sync::optimum const best = sync::optimal(problem, plan, machine);   // also constexpr
//
//   problem::overlap   objective                                        result
//   false              seconds of a step in which nothing overlaps      exact, or with a small gap
//                                                                       below a memory limit
//   true               seconds of the timeline of the plan's program    with a gap
//                      (overlapped_optimum.hpp)
//
// The layouts of the plan stay as they are. strategies.hpp lists the strategies of one parameter.
// Gradients are sent as they are, unless the options permit wires:
//
//   auto const int8 = wires::with_feedback(wires::int8);
//   sync::optimal(problem, plan, machine, {.wires = {int8, wires::bf16}});

#include <ashlar/sync/overlapped_optimum.hpp>
#include <ashlar/sync/serial_optimum.hpp>

namespace ashlar::sync {

struct optimal_options {
  int effort = 400'000;  ///< the effort of the search below a memory limit (limited_options.hpp)
  /// With problem::overlap: no more changes are tried after this many plans have been priced.
  int most_priced = 64;
  /// Wires that the search may give to gradients, where this makes a step faster. Wires change the
  /// training. Wires without error feedback may keep it from converging (plan/wire.hpp).
  wire_list wires = lossless;
};

/// Returns the plan `chosen` of `net` with the strategies that take the fewest seconds on machine
/// `m`, and a bound of how much faster other strategies can be. If the plan has plain steps, memory
/// is counted as if the wires kept their encoding errors in plain steps too. Communicates nothing.
/// Throws ashlar::error in these cases:
///
///   - `chosen` is a plan of another net, has wires or has gradients in rows.
///   - No strategies are found that fit in the memory of the machine (0: no limit). If the net has
///     a branch and problem::overlap is not set, only the fastest strategies are tried.
///   - Wires are permitted, but gradients are of double, or the plan has plain steps and delays.
///   - Wires with momentum are permitted, but the plan has no plain steps.
template <int N>
constexpr basic_optimum<N> optimal(search::basic_problem<N> const& net,
                                   search::basic_plan<N> const& chosen, machine const& m,
                                   optimal_options const& options = {}) {
  check_plan_of("sync::optimal", net, chosen);
  if (has_wires(chosen))
    throw error("sync::optimal", "chooses the wires of gradients itself, but the plan has some. "
                                 "Give a plan without wires, and permit them in the options.");
  detail::check_wires("sync::optimal", net, chosen, options.wires);
  if (has_rows(chosen))
    throw error("sync::optimal", "chooses strategies of gradients as tensors, but the plan keeps "
                                 "some in rows. Choose the strategies first, and apply sync::rows "
                                 "to one table of the result with sync::pinned.");
  auto described = net;
  described.interleaved = chosen.interleaved;  // 0 in the problem if the search chooses the number
  if (net.overlap) {
    auto const found = detail::overlapped_optimum(any_length(described),
                                                  with_capacity<search::dynamic_size>(chosen), m,
                                                  options.most_priced, options.wires)
                           .run(options.effort);
    return {with_capacity<N>(found.chosen), found.bound, found.gap};
  }
  return detail::serial_optimum<N>(described, chosen, m, options.effort, options.wires).run();
}

}  // namespace ashlar::sync
