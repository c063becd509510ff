// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest plan that fits a memory limit, exactly. Memory is a sum (kept) and a maximum
// (gathered; memory.hpp).
//
//   1. the least possible memory: the minimum, over the values g of the maximum, of g + Σ elements
//      the least kept by choices that gather at most g
//   2. the Lagrangian dual in one price of kept memory (lagrangian.hpp): a lower bound of the
//      seconds, and plans that fit on the way
//   3. labels (label_search) of the plans that are at most so much dearer than the bound, for a
//      growing margin, until there is one: the cheapest of them is the optimum
//
// Where the labels become too many (deep nets of nearly equal blocks, tight limits) the plan says by
// how much it may miss the optimum: basic_plan::gap. Where segments can be recomputed, how many:
// recomputation_search.hpp.

#include <ashlar/search/recomputation_search.hpp>
#include <ashlar/search/unwatched.hpp>

namespace ashlar::search {
/// The plan of least predicted seconds among those of at most machine.memory bytes per rank.
/// Throws ashlar::error if there is none, saying the least possible. Arguments as of `optimal`.
template <int N, class Filter, class Watch = detail::unwatched>
constexpr basic_plan<N> within_memory(basic_problem<N> const& net, topology const& t,
                                      machine const& m, Filter const& filter,
                                      Watch&& watch = Watch{}) {
  detail::recomputation_search search(net, t, m, filter, watch);
  return search.run(m.memory);
}

}  // namespace ashlar::search
