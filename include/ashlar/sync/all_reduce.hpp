// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The strategy in which gradients are all-reduced, and every rank updates all that it reads:
//
//   gradient   update   store
//   P -> B     B        B

#include <ashlar/sync/changed_plan.hpp>

namespace ashlar::sync {

struct all_reduce {
  /// Returns the plan with this strategy for all parameters. Errors are those of changed_plan.
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> const& chosen,
                                             machine const& m) const {
    return changed_plan("sync::all_reduce", net, chosen, m,
                        [](search::parameter_choice& p, shape const&) {
                          p.store = stored_as_used(p);
                          p.update = {};
                        });
  }
};

}  // namespace ashlar::sync
