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
//   mesh of one or two axes, a filter, or recomputed segments   chain_solver over all choices
//   other meshes                                                by_roles.hpp
//   the fastest plan needs more than machine.memory             then within_memory.hpp

#include <ashlar/search/by_roles.hpp>
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

/// Returns the fastest plan, by methods that constant expressions permit. The plan's memory is not
/// limited.
template <int N>
constexpr basic_plan<N> fastest_in_compiler(basic_problem<N> const& net, topology const& t,
                                            machine const& m) {
  if (t.axes() > 2 && net.recomputed == 0) return optimal_by_roles(net, t, m);
  return fastest_of_choices(net, t, m, any_choice{});
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
  check_problem(net, t);
  basic_plan<N> const fastest = [&] {
    if constexpr (std::is_same_v<Filter, any_choice>) return detail::fastest_in_compiler(net, t, m);
    else return detail::fastest_of_choices(net, t, m, filter);
  }();
  if (m.memory == 0 || fastest.memory <= m.memory) return fastest;
  return within_memory(net, t, m, filter);
}

/// Returns the plan of least predicted seconds that needs at most m.memory bytes per rank (0: no
/// limit). Expects a mesh of at most four axes.
template <int N>
consteval basic_plan<N> optimal_in_compiler(basic_problem<N> const& net, topology const& t,
                                            machine const& m) {
  return include_search_in_compiler_hpp(net, t, m, any_choice{}, 0);
}

}  // namespace ashlar::search
