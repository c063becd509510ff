// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Implements `optimal` (search for the fastest plan) for constant expressions, without the headers
// that are needed only at run time. Including this file takes half as long as including
// optimal.hpp. The plans are the same.
//
//   constexpr auto plan = search::optimal_in_compiler(problem, topology, machine);
//
// The method depends on the problem:
//
//   mesh of one or two axes, a filter, tied parameters,
//   branches or recomputed segments                             chain_solver over all choices
//   other problems                                              by_roles.hpp
//   the fastest plan needs more than machine.memory             within_memory.hpp, afterwards

#include <ashlar/plan/text.hpp>
#include <ashlar/search/branch_limits.hpp>
#include <ashlar/search/by_roles.hpp>
#include <ashlar/search/exact_axes.hpp>
#include <ashlar/search/tied_storage.hpp>
#include <ashlar/search/within_memory.hpp>

namespace ashlar::search {
namespace detail {

/// Returns the fastest plan that a filter permits, by dynamic programming over all permitted
/// choices. The plan's memory is not limited.
template <int N, class Filter>
constexpr basic_plan<N> fastest_of_choices(basic_problem<N> const& net, topology const& t,
                                           machine const& m, Filter const& filter) {
  chain_model<N> model(net, t, m, filter, pruning::by_time);
  return make_plan(model, chain_solver<N>(model).path());
}

/// Does what plan_within_limit does, for a problem in which the storage of each tied parameter is
/// prescribed.
template <int N, class Filter, class Fastest, class Watch>
constexpr basic_plan<N> settled_plan(basic_problem<N> const& net, topology const& t,
                                     machine const& m, Filter const& filter,
                                     Fastest const& fastest_by_roles, Watch& watch) {
  if (!is_exact_on(t) &&
      (has_tied_parameters(net) || !std::is_same_v<Filter, any_choice> || net.recomputed != 0))
    refuse_axes("search::optimal", has_tied_parameters(net)
                                       ? "a search of a net with tied parameters"
                                       : "a search with pins, a filter or recomputed segments");
  check_problem(net, t, m);
  if (has_branches(net) && t.axes() > most_axes_of_branches)
    refuse_branches("search::optimal",
                    "on more than " + std::to_string(most_axes_of_branches) + " mesh axes",
                    "Merge axes of one tier.");
  auto const find_fastest = [&] {
    if constexpr (std::is_same_v<Filter, any_choice>)
      if (t.axes() > 2 && net.recomputed == 0 && !has_tied_parameters(net) && !has_branches(net))
        return fastest_by_roles(net, t, m);
    return fastest_of_choices(net, t, m, filter);
  };
  basic_plan<N> const fastest = find_fastest();
  watch.raise_bound(fastest.seconds * (1 - fastest.gap));
  if (m.memory == 0 || fastest.memory <= m.memory) {
    watch.improves(fastest.seconds);
    return fastest;
  }
  if (!is_exact_on(t))
    throw error("search::optimal",
                "the fastest plan needs " + bytes_text(double(fastest.memory)) +
                    " per rank, more than the limit, and a search below a memory limit supports " +
                    at_most_exact_axes() + ". Merge axes of one tier.");
  return within_memory(net, t, m, filter, watch);
}

/// Returns the plan of least predicted seconds that `filter` permits and that needs at most
/// m.memory bytes per rank (0: no limit). `fastest_by_roles(net, t, m)` returns the fastest plan
/// without a memory limit. It is called only if the mesh has more than two axes and there is no
/// filter, branch, tied parameter or recomputed segment. `watch` follows the search's progress.
template <int N, class Filter, class Fastest, class Watch>
constexpr basic_plan<N> plan_within_limit(basic_problem<N> const& net, topology const& t,
                                          machine const& m, Filter const& filter,
                                          Fastest const& fastest_by_roles, Watch& watch) {
  if (has_settled_ties(net) || !is_exact_on(t))
    return settled_plan(net, t, m, filter, fastest_by_roles, watch);
  check_problem(net, t, m);
  watch_of_part<Watch> part{watch, effort_of(watch)};
  auto const found = best_storage(
      net, t, !std::is_same_v<Filter, any_choice>,
      [&](basic_problem<N> const& one) {
        return settled_plan(one, t, m, filter, fastest_by_roles, part);
      },
      [&] { return watch.has_time(); });
  watch.raise_bound(found.seconds * (1 - found.gap));
  return found;
}

}  // namespace detail

/// Returns the plan of least predicted seconds that `filter` permits and that needs at most
/// m.memory bytes per rank (0: no limit). `optimal` calls this function in constant expressions.
/// The last parameter makes this function a better match than the function of the same name in
/// optimal.hpp.
template <int N, class Filter>
constexpr basic_plan<N> include_search_in_compiler_hpp(basic_problem<N> const& net,
                                                       topology const& t, machine const& m,
                                                       Filter const& filter, int) {
  auto const by_roles = [](auto const& what, topology const& where, machine const& on) {
    return optimal_by_roles(what, where, on);
  };
  detail::no_watch alone;
  return detail::plan_within_limit(net, t, m, filter, by_roles, alone);
}

/// Returns the plan of least predicted seconds that needs at most m.memory bytes per rank (0: no
/// limit). Expects a mesh of at most four axes.
template <int N>
consteval basic_plan<N> optimal_in_compiler(basic_problem<N> const& net, topology const& t,
                                            machine const& m) {
  return include_search_in_compiler_hpp(net, t, m, any_choice{}, 0);
}

}  // namespace ashlar::search
