// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the search for plans at run time, and `explain`.

#include <ashlar/search/explain.hpp>
#include <ashlar/search/explain_text.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/optimal_plan.hpp>

namespace ashlar::search::detail {

plan optimal_at_run_time(problem const& net, topology const& t, machine const& m,
                         std::function<bool(int, layer_choice const&)> const& filter,
                         search_effort const& effort) {
  no_watch alone{effort};
  return filter ? optimal_plan(net, t, m, filter, alone)
                : optimal_plan(net, t, m, any_choice{}, alone);
}

explanation explain_at_run_time(problem const& net, plan const& chosen, machine const& m) {
  return explain_here(net, chosen, m);
}

}  // namespace ashlar::search::detail
