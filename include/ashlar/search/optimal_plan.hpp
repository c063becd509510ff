// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Implements `optimal` (optimal.hpp). In constant expressions it uses only in_compiler.hpp; the
// other methods run only at run time. `watch` follows the progress of the search.

#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/search_on_mesh.hpp>

namespace ashlar::search::detail {

template <int N, class Filter, class Watch>
constexpr basic_plan<N> optimal_plan(basic_problem<N> const& net, topology const& t,
                                     machine const& m, Filter const& filter, Watch& watch) {
  if (!is_exact_on(t) && (!std::is_same_v<Filter, any_choice> || net.recomputed != 0))
    throw error(
        "search::optimal",
        "a search with pins, a filter or recomputed segments supports " + at_most_exact_axes() +
            ", because the number of choices of a layer grows exponentially with the number of "
            "axes. Merge axes of one tier.");
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
                    " per rank, more than the limit, and a search below a memory limit supports " +
                    at_most_exact_axes() + ". Merge axes of one tier.");
  if (m.memory != 0 && fastest.memory > m.memory) return within_memory(net, t, m, filter, watch);
  watch.improves(fastest.seconds);
  return fastest;
}

}  // namespace ashlar::search::detail
