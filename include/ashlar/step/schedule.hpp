// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists every redistribution of a training step under a plan, in the order of execution. An element
// is a layer, or the begin, turn or end of a residual, skip or branch.
//
//   phase and elements               redistributions of an element
//   forward, elements 0 .. n-1       y of the element before -> x (for element 0: the data, which
//                                    is replicated, -> x),
//                                    its parameters store -> use, its statistics
//   recompute, before the backward   those of phase forward that communicate. But the x of the
//   pass of a recomputed segment's   segment's first element does not move again
//   last element
//   backward, elements n-1 .. 0      dx of the element after -> dy,
//                                    its parameters store -> use, if the backward pass reads them
//                                    and this redistribution communicates
//   synchronize, elements 0 .. n-1   its parameters' gradients -> update
//   renew, elements 0 .. n-1         its parameters update -> store
//
// A parameter is stored at placement store, the layer reads it at placement use, and the optimizer
// updates it at placement update. The phases synchronize and renew run once per step, the others
// once per micro-batch. Redistributions between equal placements are left out.

#include <vector>

#include <ashlar/plan/encoded_redistribution.hpp>
#include <ashlar/step/element_size.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/step/visit.hpp>

namespace ashlar::search {
inline namespace step {

/// One redistribution of a step. In the phase synchronize, `moved::parameter` means the gradient of
/// a parameter.
struct scheduled_move {
  step::phase phase = step::phase::forward;
  int element = 0;  ///< element that receives the tensor, or that owns the parameter or statistic
  moved what = moved::activation;
  int index = 0;  ///< index of the parameter or statistic
  redistribution_plan plan;
};

namespace step_detail {

/// A visitor (visit.hpp) that calls `f` for each redistribution of one element of the layer chain.
template <class F>
struct moves_of {
  int element;
  F const& f;
  constexpr void compute(phase, computation, int, int) const {}
  constexpr void move(phase when, moved what, int index, shape const& extents,
                      placement const& from, placement const& to) const {
    f(when, element, what, index, extents, from, to);
  }
};

template <int N, class F>
constexpr void for_each_move(basic_problem<N> const& net, basic_plan<N> const& chosen, F f) {
  int const n = net.size();
  auto const visit = [&](phase when, int i) {
    visit_element(when, net.spec(i), chosen[i], moves_of<F>{i, f});
  };
  auto const enter = [&](phase when, int i) {
    if (i == 0)
      visit_boundary(when, net.spec(0).x, placement::all_broadcast(chosen.mesh.axes()), chosen[0].x,
                     moves_of<F>{0, f});
    else
      visit_boundary(when, boundary_extents(net, i - 1), chosen[i - 1].y, chosen[i].x,
                     moves_of<F>{i, f});
  };
  for (int i = 0; i < n; ++i) {
    enter(phase::forward, i);
    visit(phase::forward, i);
  }
  for (int i = n - 1; i >= 0; --i) {
    if (ends_recomputed_segment(net, i, chosen.recomputed))
      for (int j = first_of_segment(net, i); j <= i; ++j) {
        if (net[j].segment == (j > 0 ? net[j - 1].segment : -1)) enter(phase::recompute, j);
        visit(phase::recompute, j);
      }
    if (i + 1 < n)
      visit_boundary(phase::backward, boundary_extents(net, i), chosen[i + 1].dx, chosen[i].dy,
                     moves_of<F>{i, f});
    visit(phase::backward, i);
  }
  for (int i = 0; i < n; ++i) visit(phase::synchronize, i);
  for (int i = 0; i < n; ++i) visit(phase::renew, i);
}

}  // namespace step_detail

/// Returns the redistributions of one step of a plan, in execution order. Expects a plan of this
/// problem: one valid choice per element.
template <int N>
constexpr std::vector<scheduled_move> schedule(basic_problem<N> const& net,
                                               basic_plan<N> const& chosen, machine const& m) {
  std::vector<scheduled_move> moves;
  step_detail::for_each_move(
      net, chosen,
      [&](phase when, int element, moved what, int index, shape const& extents,
          placement const& from, placement const& to) {
        if (from == to) return;
        auto path = plan_encoded(extents, element_size(net, what, when), from, to,
                                 wire_of(chosen[element], what, when, index), chosen.mesh, m);
        bool const again = when == phase::recompute ||
                           (when == phase::backward && what == moved::parameter);
        if (again && path.is_local()) return;
        moves.push_back({when, element, what, index, path});
      });
  return moves;
}

}  // namespace step
}  // namespace ashlar::search
