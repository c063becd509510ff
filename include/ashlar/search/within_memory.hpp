// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once
#include <ashlar/search/chain_solver.hpp>
#include <ashlar/search/make_plan.hpp>
namespace ashlar::search {
template <int N, class Filter>
constexpr basic_plan<N> within_memory(basic_problem<N> const& net, topology const& t,
                                      machine const& m, Filter const& filter) {
  return empty_plan(net, t);
}
}  // namespace ashlar::search
