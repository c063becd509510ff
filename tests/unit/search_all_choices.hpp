// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/chain_solver.hpp>

namespace ashlar_test {

/// Returns the optimal plan, which is found by dynamic programming over all choices.
inline ashlar::search::plan over_all_choices(ashlar::search::problem const& net,
                                             ashlar::topology const& t, ashlar::machine const& m) {
  ashlar::search::chain_model<-1> model(net, t, m, ashlar::search::any_choice{},
                                        ashlar::search::pruning::by_time);
  return make_plan(model, ashlar::search::chain_solver<-1>(model).path());
}

}  // namespace ashlar_test
