// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The optimum on meshes with alike axes (alike_axes.hpp), as factors of two are:
//
//   1. a lower bound   the optimum where alike axes are not told apart: per tier a choice says how many
//                      axes have which row, not which. 1,024 ranks as ten axes of two in two tiers have
//                      360 choices of a matrix product instead of 59,049
//   2. a plan          which axes: align.hpp, among the choices that may be part of a plan that costs
//                      the bound
//
// The bound can be attained in a chain: all elements after a boundary may exchange alike axes at once.
// But an activation and its gradient move with the same axes, a residual ties the axes at both of its
// ends, and moves may need another order of shards than the mesh's. Where such a thing makes the
// plan dearer than the bound, plan.gap says by how much at most.

#include <ashlar/search/align.hpp>
#include <ashlar/search/bounded_choices.hpp>

namespace ashlar::search {

/// The search on one mesh: its bound at once, its plan when it is asked for.
template <int N>
class search_by_compositions {
 public:
  /// `chain` has to outlive this.
  search_by_compositions(basic_problem<N> const& chain, topology const& t, machine const& m)
      : model_(chain, t, m, any_choice{}, pruning::by_time) {
    bounded_choices<N, composition_planner> bounds(model_);
    bounds.restrict();
    bound_ = chain_solver<N, composition_planner>(model_).solve();
    bounds.narrow(bound_);
  }

  /// No plan takes less (but for a part in 1e9, which ties may weigh).
  double bound() const { return bound_; }

  /// A plan of the compositions found, whatever its memory; gap 0: it is the optimum.
  basic_plan<N> plan() {
    auto found = detail::align<N>(model_).plan(bound_);
    found.gap = found.seconds <= bound_ * (1 + 1e-9) ? 0 : 1 - bound_ / found.seconds;
    return found;
  }

 private:
  chain_model<N, composition_planner> model_;
  double bound_ = 0;
};

}  // namespace ashlar::search
