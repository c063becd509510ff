// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What `optimal` does in the compiler, without the headers of what it does at run time alone: half of
// the seconds that including optimal.hpp takes.
//
//   constexpr auto plan = search::optimal_in_compiler(problem, topology, machine);
//
//   one axis or two   chain_solver over all choices
//   more              by_roles.hpp
//   m.memory exceeded within_memory.hpp
//
// The plans are those of `optimal`.

#include <ashlar/search/by_roles.hpp>
#include <ashlar/search/within_memory.hpp>

namespace ashlar::search {
namespace detail {

/// The fastest plan of the choices that a filter permits, by dynamic programming over all of them.
template <int N, class Filter>
constexpr basic_plan<N> fastest_of_choices(basic_problem<N> const& net, topology const& t,
                                           machine const& m, Filter const& filter) {
  chain_model<N> model(net, t, m, filter, pruning::by_time);
  return make_plan(model, chain_solver<N>(model).path());
}

/// The fastest plan, as the compiler finds it.
template <int N>
constexpr basic_plan<N> fastest_in_compiler(basic_problem<N> const& net, topology const& t,
                                            machine const& m) {
  if (t.axes() > 2 && net.recomputed == 0) return optimal_by_roles(net, t, m);
  return fastest_of_choices(net, t, m, any_choice{});
}

}  // namespace detail

/// The plan of least predicted seconds of at most m.memory bytes per rank (0: any number), as
/// `optimal` finds it. Expects a mesh of four axes or fewer.
template <int N>
consteval basic_plan<N> optimal_in_compiler(basic_problem<N> const& net, topology const& t,
                                            machine const& m) {
  check_problem(net, t);
  basic_plan<N> const fastest = detail::fastest_in_compiler(net, t, m);
  if (m.memory == 0 || fastest.memory <= m.memory) return fastest;
  return within_memory(net, t, m, any_choice{});
}

}  // namespace ashlar::search
