// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest plan, exactly (below a memory limit: with the gap that plan.gap states):
//
//   auto const plan = search::optimal(problem, topology, machine);            // also constexpr
//   auto const some = search::optimal(problem, topology, machine, filter);    // filter(i, choice)
//
// Without a memory limit, or where the optimum stays below it: chain_solver, on more than two axes
// search_on_mesh. With one: within_memory. Ties go to fewer collectives and, on up to two axes, to the
// choice that layer_choices names first. Which factors the axes had best be made of: factored.hpp.
//
// In the compiler alone, with fewer headers: in_compiler.hpp.
//
// Five and six axes, as factors of two are, are searched without a filter and within memory only
// (search_on_mesh.hpp).

#include <ashlar/config.hpp>
#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/search_on_mesh.hpp>

namespace ashlar::search {
namespace detail {

template <int N, class Filter, class Watch>
constexpr basic_plan<N> optimal_plan(basic_problem<N> const& net, topology const& t,
                                     machine const& m, Filter const& filter, Watch& watch) {
  if (!is_exact_on(t) && (!std::is_same_v<Filter, any_choice> || net.recomputed != 0))
    throw error("search::optimal",
                "a mesh of " + more_than_exact_axes() +
                    " is not searched with pins, a filter or recomputed segments: the choices of a "
                    "layer grow with their power. Merge axes of one tier.");
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
                    " per rank, more than there is, and below a memory limit a mesh of " +
                    more_than_exact_axes() + " is not searched. Merge axes of one tier.");
  if (m.memory != 0 && fastest.memory > m.memory) return within_memory(net, t, m, filter, watch);
  watch.improves(fastest.seconds);
  return fastest;
}

#if ASHLAR_COMPILED
plan optimal_at_run_time(problem const& net, topology const& t, machine const& m);
#endif

}  // namespace detail

/// The plan of least predicted seconds per step among those whose choices `filter(element, choice)`
/// permits (a residual is asked at its begin) and whose memory per rank is at most machine.memory
/// (0: no limit). Bytes and seconds as in cost.hpp and memory.hpp.
/// Throws ashlar::error if a layer has no permitted choice, or if no plan fits the limit; the
/// message then says what the least possible memory is.
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
