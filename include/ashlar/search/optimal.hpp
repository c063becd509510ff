// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of least predicted seconds. It is the exact optimum, except below some memory limits and
// on some meshes of five or more axes. There, plan.gap bounds how much faster another plan can be:
//
//   auto const plan = search::optimal(problem, topology, machine);            // also constexpr
//   auto const some = search::optimal(problem, topology, machine, filter);    // filter(i, choice)
//
// Without a memory limit, or if the fastest plan fits, the method is dynamic programming
// (chain_solver.hpp) on one or two axes and search_on_mesh.hpp on more. If the fastest plan exceeds
// the limit, within_memory.hpp takes over. Ties go to the plan with fewer collectives and, on one
// or two axes, to the choice that layer_choices lists first. factored.hpp also searches for the
// best factors of the mesh axes.
//
// in_compiler.hpp does the same in constant expressions only, with fewer headers.
//
// Meshes of five and more axes are searched only without a filter and without recomputed segments,
// and only if the fastest plan fits in the memory limit (search_on_mesh.hpp).

#include <ashlar/config.hpp>
#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/search_on_mesh.hpp>

namespace ashlar::search {
namespace detail {

template <int N, class Filter, class Watch>
constexpr basic_plan<N> optimal_plan(basic_problem<N> const& net, topology const& t,
                                     machine const& m, Filter const& filter, Watch& watch) {
  if (!is_exact_on(t) && (!std::is_same_v<Filter, any_choice> || net.recomputed != 0))
    throw error(
        "search::optimal",
        "a mesh of " + more_than_exact_axes() +
            " is not searched with pins, a filter or recomputed segments: the number of choices of "
            "a layer grows exponentially with the number of axes. Merge axes of one tier.");
  check_problem(net, t);
  auto const find_fastest = [&] {
    if constexpr (std::is_same_v<Filter, any_choice>)
      if (t.axes() > 2 && net.recomputed == 0)
        return ASHLAR_IN_COMPILER ? fastest_in_compiler(net, t, m)
                                  : search_on_mesh<N>(net, t, m).plan();
    return fastest_of_choices(net, t, m, filter);
  };
  basic_plan<N> const fastest = find_fastest();
  watch.raise_bound(fastest.seconds * (1 - fastest.gap));
  if (m.memory != 0 && fastest.memory > m.memory && !is_exact_on(t))
    throw error("search::optimal",
                "the fastest plan needs " + bytes_text(double(fastest.memory)) +
                    " per rank, more than the limit, and a mesh of " + more_than_exact_axes() +
                    " is not searched below a memory limit. Merge axes of one tier.");
  if (m.memory != 0 && fastest.memory > m.memory) return within_memory(net, t, m, filter, watch);
  watch.improves(fastest.seconds);
  return fastest;
}

#if ASHLAR_COMPILED
plan optimal_at_run_time(problem const& net, topology const& t, machine const& m);
#endif

}  // namespace detail

/// Returns the plan of least predicted seconds per step among those whose choices `filter(element,
/// choice)` permits and whose memory per rank is at most machine.memory (0: no limit). The filter
/// is called for the begin of a residual, not for its end. cost.hpp defines the seconds and
/// step/memory_fold.hpp the bytes. Throws ashlar::error if a layer has no permitted choice, or if
/// no plan fits; the message then states the least possible memory.
template <int N, class Filter = any_choice>
constexpr basic_plan<N> optimal(basic_problem<N> const& net, topology const& t, machine const& m,
                                Filter const& filter = {}) {
  detail::no_watch alone;
  if constexpr (std::is_same_v<Filter, any_choice>) {
    ASHLAR_RETURN(detail::optimal_plan(net, t, m, filter, alone),
                  with_capacity<N>(detail::optimal_at_run_time(any_length(net), t, m)));
  } else {
    return detail::optimal_plan(net, t, m, filter, alone);
  }
}

}  // namespace ashlar::search
