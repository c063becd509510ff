// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Every redistribution of a training step under a plan, in the order in which it is executed.
//
//   forward, elements 0 .. n-1       y of the element before -> x (the first: source, all B -> x),
//                                    its parameters store -> use, its statistics
//   recompute, in front of the       the forward moves of the segment again, but for the way into it;
//   last element of a recomputed     only what communicates
//   segment in the line below
//   backward, elements n-1 .. 0      dx of the element after -> dy,
//                                    its parameters store -> use again, if read there and if that
//                                    communicates (a slice, which is free, is not listed again)
//   synchronize, elements 0 .. n-1   its parameters' gradients -> store
//
// All but synchronize run once per micro-batch, synchronize once per step. Moves between equal
// placements are left out. residual_begin hands its x on in R, residual_end takes in R what the
// inner chain made; gradients come back in G: for them the table above holds as it stands.

#include <vector>

#include <ashlar/plan/redistribution.hpp>
#include <ashlar/step/element_size.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search::inline step {

/// One redistribution of a step. Of `synchronize`, `parameter` stands for the parameter's gradient.
struct scheduled_move {
  step::phase phase = step::phase::forward;
  int element = 0;  ///< the one that receives an activation or gradient, or owns the rest
  moved what = moved::activation;
  int index = 0;  ///< of the parameter or statistic
  redistribution_plan plan;
};

/// The extents of what elements i and i + 1 pass on. If one of them views a dim as two (heads), the
/// view of fewer dims counts.
template <int N>
constexpr shape const& boundary_extents(basic_problem<N> const& net, int i) {
  shape const &y = net.spec(i).y, &x = net.spec(i + 1).x;
  return x.rank() < y.rank() ? x : y;
}

namespace step_detail {

template <int N, class Emit>
constexpr void for_each_move(basic_problem<N> const& net, basic_plan<N> const& chosen, Emit emit) {
  int const n = net.size();
  auto const forward = [&](phase when, int i, bool enters) {
    layer_choice const& c = chosen[i];
    auto const& spec = net.spec(i);
    if (enters && i == 0)
      emit(when, i, moved::activation, 0, spec.x, placement::all_broadcast(chosen.mesh.axes()),
           c.x);
    else if (enters)
      emit(when, i, moved::activation, 0, boundary_extents(net, i - 1), chosen[i - 1].y, c.x);
    for (int k = 0; k < c.parameters.size(); ++k)
      emit(when, i, moved::parameter, k, spec.parameters[k].extents, c.parameters[k].store,
           c.parameters[k].use);
    for (int k = 0; k < c.statistics.size(); ++k)
      emit(when, i, moved::statistic, k, spec.statistics[k], c.statistics[k].from,
           c.statistics[k].to);
  };
  for (int i = 0; i < n; ++i) forward(phase::forward, i, true);
  for (int i = n - 1; i >= 0; --i) {
    layer_choice const& c = chosen[i];
    if (int const own = net[i].segment; net.runs(i, chosen.recomputed) != forward_runs::once &&
                                        (i + 1 == n || net[i + 1].segment != own)) {
      int first = i;
      while (first > 0 && net[first - 1].segment == own) --first;
      for (int j = first; j <= i; ++j) forward(phase::recompute, j, j > first);
    }
    if (i + 1 < n)
      emit(phase::backward, i, moved::gradient, 0, boundary_extents(net, i), chosen[i + 1].dx,
           c.dy);
    for (int k = 0; k < c.parameters.size(); ++k)
      if (net.spec(i).parameters[k].in_backward)
        emit(phase::backward, i, moved::parameter, k, net.spec(i).parameters[k].extents,
             c.parameters[k].store, c.parameters[k].use);
  }
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < chosen[i].parameters.size(); ++k)
      emit(phase::synchronize, i, moved::parameter, k, net.spec(i).parameters[k].extents,
           chosen[i].parameters[k].grad, chosen[i].parameters[k].store);
  }
}

}  // namespace step_detail

/// The redistributions of one step of `plan`, in execution order.
/// Expects a plan of this problem: one valid choice per element.
template <int N>
constexpr std::vector<scheduled_move> schedule(basic_problem<N> const& net,
                                               basic_plan<N> const& chosen, machine const& m) {
  std::vector<scheduled_move> moves;
  step_detail::for_each_move(
      net, chosen,
      [&](phase when, int element, moved what, int index, shape const& extents,
          placement const& from, placement const& to) {
        if (from == to) return;
        auto path = plan_redistribution(extents, element_size(net, what, when), from, to,
                                        chosen.mesh, m);
        bool const again = when == phase::recompute ||
                           (when == phase::backward && what == moved::parameter);
        if (again && path.is_local()) return;
        moves.push_back({when, element, what, index, path});
      });
  return moves;
}

}  // namespace ashlar::search::inline step
