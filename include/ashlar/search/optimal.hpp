// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the plan of least predicted seconds. The plan is the exact optimum, except below some
// memory limits, on some meshes of five or more axes, and if problem::overlap is set. In these
// cases plan.gap may be above 0: it bounds the fraction of the time that another plan can save.
//
//   auto const plan = search::optimal(problem, topology, machine);            // also constexpr
//   auto const some = search::optimal(problem, topology, machine, filter);    // filter(i, choice)
//
// The method depends on the problem. More than one line can apply:
//
//   one or two axes, a filter,
//   tied parameters, branches,
//   or recomputed segments      dynamic programming over all choices (chain_solver.hpp)
//   other meshes                search_on_mesh.hpp
//   fastest plan exceeds the
//   memory limit                within_memory.hpp
//   tied parameters             one search for each of their storages (tied_storage.hpp)
//   problem::overlap            overlap/overlapped_plan.hpp: it minimizes the seconds with overlap
//   in constant expressions     in_compiler.hpp. A program that links ashlar::compiled and needs a
//                               plan as a constant must include in_compiler.hpp, too
//
// Among plans of equal seconds, the plan with the fewest collectives is returned. If several plans
// have equally few collectives, the search on one or two axes returns the plan with the choices
// that layer_choices lists first.
//
// Meshes of five and more axes are searched only if five conditions hold: there is no filter, no
// parameter is tied, the net has no branches, no segment is recomputed, and the fastest plan fits
// in the memory limit. Nets with branches are searched on at most three axes. factored.hpp also
// searches for the best factors of the mesh axes.

#include <ashlar/config.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/search/any_choice.hpp>
#include <ashlar/search/search_effort.hpp>
#include <ashlar/step/problem.hpp>

#if ASHLAR_COMPILED
#include <functional>
#else
#include <ashlar/search/optimal_plan.hpp>
#endif

namespace ashlar::search {

#if ASHLAR_COMPILED
namespace detail {

struct some_filter {
  template <class Filter>
  constexpr some_filter(Filter const&) {}
};

/// Finds the optimal plan at run time. An empty filter permits every choice.
plan optimal_at_run_time(problem const& net, topology const& t, machine const& m,
                         std::function<bool(int, layer_choice const&)> const& filter,
                         search_effort const& effort);

template <int N, class Filter>
basic_plan<N> searched_at_run_time(basic_problem<N> const& net, topology const& t, machine const& m,
                                   Filter const& filter, search_effort const& effort) {
  static_assert(std::is_invocable_r_v<bool, Filter const&, int, layer_choice const&>,
                "search::optimal: with ashlar::compiled, a filter is a function "
                "filter(element, choice) that returns whether the choice is permitted.");
  std::function<bool(int, layer_choice const&)> permits;
  if constexpr (!std::is_same_v<Filter, any_choice>) permits = std::cref(filter);
  return with_capacity<N>(optimal_at_run_time(any_length(net), t, m, permits, effort));
}

}  // namespace detail

/// `optimal` calls a function of this name in constant expressions. search/in_compiler.hpp defines
/// a constexpr function of this name. That function is the better match, since its last parameter
/// is an int and it takes the filter's own type. Without that header the call finds this
/// declaration, which is not constexpr and never defined. The compiler's error then contains the
/// name of this function, which tells the user what to include. A program that searches only at run
/// time need not compile the search.
template <int N>
basic_plan<N> include_search_in_compiler_hpp(basic_problem<N> const& net, topology const& t,
                                             machine const& m, detail::some_filter filter, long);
#endif

/// Returns the plan of least predicted seconds per step. The plan's choices must be permitted by
/// `filter(element, choice)`, and its memory per rank must be at most machine.memory bytes (0: no
/// limit). The filter is called for the begin of a residual block, not for its end. cost.hpp
/// defines the seconds and step/memory_fold.hpp the memory. Throws ashlar::error if a layer has no
/// permitted choice, or if no plan that fits is found; the message then states the least memory
/// that was found. `effort` has an effect only at run time.
template <int N, class Filter = any_choice>
constexpr basic_plan<N> optimal(basic_problem<N> const& net, topology const& t, machine const& m,
                                Filter const& filter = {}, search_effort const& effort = {}) {
#if ASHLAR_COMPILED
  if (ASHLAR_IN_COMPILER)  // For a constant plan include <ashlar/search/in_compiler.hpp>.
    return include_search_in_compiler_hpp(net, t, m, filter, 0);
  return detail::searched_at_run_time(net, t, m, filter, effort);
#else
  detail::no_watch alone{effort};
  return detail::optimal_plan(net, t, m, filter, alone);
#endif
}

}  // namespace ashlar::search
