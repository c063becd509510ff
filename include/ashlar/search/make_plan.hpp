// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// From choices to a plan with its predictions, read off the tables that the search has anyway.
// (predict in cost.hpp gives the same from the schedule, which costs more.)

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

/// A plan without choices.
template <int N>
constexpr basic_plan<N> empty_plan(basic_problem<N> const& net, topology const& t) {
  basic_plan<N> chosen;
  chosen.mesh = t;
  chosen.micro_batches = net.micro_batches;
  chosen.problem_hash = hash(net);
  if (net.size() > 0) chosen.input = net.spec(0).x;
  return chosen;
}

/// The plan with choice(i) of element i and so many segments recomputed. `paths` prices its
/// redistributions.
template <int N, class Paths, class Choice>
constexpr basic_plan<N> assemble_plan(basic_problem<N> const& net, Paths& paths, int recomputed,
                                      Choice const& choice) {
  basic_plan<N> chosen = empty_plan(net, paths.mesh());
  chosen.recomputed = recomputed;
  double const batches = net.micro_batches;
  double work = 0, communication = 0;
  layer_choice const* before = nullptr;
  for (int i = 0; i < net.size(); ++i) {
    layer_choice const& c = choice(i);
    auto const& spec = net.spec(i);
    chosen.choices.push_back(c);
    forward_runs const runs = net.runs(i, recomputed);
    auto const own = cost_of(net, spec, c, paths, runs);
    work += own.work;
    communication += own.communication;
    if (before == nullptr) {
      auto const whole = placement::all_broadcast(paths.mesh().axes());
      communication += batches * paths.move(spec.x, net.element_size, whole, c.x).seconds;
    } else {
      shape const& extents = boundary_extents(net, i - 1);
      int const forward = runs == forward_runs::twice ? 2 : 1;
      communication += batches *
                       (forward * paths.move(extents, net.element_size, before->y, c.x).seconds +
                        paths.move(extents, net.element_size, c.dx, before->dy).seconds);
    }
    before = &c;
  }
  chosen.communication_seconds = communication;
  chosen.seconds = work + communication;
  chosen.memory = memory_per_rank(net, chosen);
  return chosen;
}

/// The plan that takes choice[i] of element i.
template <int N>
constexpr basic_plan<N> make_plan(chain_model<N>& model, scratch<int> const& choice) {
  return assemble_plan(model.net(), model.paths(), model.recomputed(),
                       [&](int i) -> layer_choice const& {
                         return model.choices(i).choices.data()[choice.data()[i]];
                       });
}

}  // namespace ashlar::search
