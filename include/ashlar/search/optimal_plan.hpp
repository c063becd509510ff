// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Implements `optimal` (optimal.hpp). In constant expressions it uses only in_compiler.hpp; the
// other methods run only at run time. `watch` follows the progress of the search. If the problem
// asks for the least overlapped time, overlap/overlapped_plan.hpp searches for it.

#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/overlap/overlapped_plan.hpp>
#include <ashlar/search/search_on_mesh.hpp>

namespace ashlar::search::detail {

template <int N, class Filter, class Watch>
constexpr basic_plan<N> optimal_plan(basic_problem<N> const& net, topology const& t,
                                     machine const& m, Filter const& filter, Watch& watch) {
  auto const by_roles = [](auto const& what, topology const& where, machine const& on) {
    return ASHLAR_IN_COMPILER ? optimal_by_roles(what, where, on)
                              : search_on_mesh<N>(what, where, on).plan();
  };
  if (!ASHLAR_IN_COMPILER && net.overlap) {
    auto const by_roles_here = [](problem const& what, topology const& where, machine const& on) {
      return search_on_mesh<dynamic_size>(what, where, on).plan();
    };
    auto const serial = [&](problem const& one, auto& part) {
      return plan_within_limit(one, t, m, filter, by_roles_here, part);
    };
    auto const found = overlapped_plan(any_length(net), t, m, filter, serial, watch);
    watch.raise_bound(found.seconds * (1 - found.gap));
    watch.improves(found.seconds);
    return with_capacity<N>(found);
  }
  return plan_within_limit(net, t, m, filter, by_roles, watch);
}

}  // namespace ashlar::search::detail
