// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// optimal() behind the interface of all algorithms (algorithm.hpp): dynamic programming, under a
// memory limit the dual and labels. One evaluation is one run of either over the chain. It is
// certified by itself; options.seed and options.whole_space change nothing.

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar::search {

/// The optimum, or the best plan that a budget permits. Throws ashlar::error as optimal() does, and
/// if it was cancelled before the first plan.
template <int N>
basic_result<N> exact(basic_problem<N> const& net, topology const& t, machine const& m,
                      options const& o = {}) {
  detail::watch run("exact", o);
  if (!run.go_on()) run.refuse();
  return run.finish(o.permits ? detail::optimal_plan(net, t, m, o.permits, run)
                              : detail::optimal_plan(net, t, m, any_choice{}, run));
}

}  // namespace ashlar::search
