// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs for tests: random networks with random legal plans, their programs, and the versions of
// these programs that the optimization passes make.

#include <support/naive_placement.hpp>

#include <ashlar/search/choices.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/pass_trial.hpp>

#include "search_nets.hpp"

namespace ashlar_test {

/// Varies a network at random. Some layers get another form of backward pass, others a sliding
/// window along dimension 0. Some runs of layers and of complete residuals become segments.
inline void vary(search::problem& net, random_cases& draw) {
  for (auto& spec : net.layers) {
    spec.workspace_values = draw.below(2) ? 0 : draw.below(50);
    std::string const name = spec.name.text;
    bool const ends = name == "residual" || name == "skip" || name == "branch";
    if (spec.x == spec.y && !ends && draw.below(4) == 0) spec.halo = {0, {3, 1, 1}};
    if (spec.parameters.size() == 0 || draw.below(3) == 0) continue;
    spec.backward = draw.below(2) ? search::backward_form::halves
                                  : search::backward_form::separable;
    spec.gradient_flops = spec.backward_flops / 2;
    spec.gradient_values = spec.backward_values / 2;
  }
  // The costs of residuals and of skips become those that nn::residual and nn::skip have.
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].kind == search::element_kind::layer || is_of_branch(net[i].kind)) continue;
    bool const begin = net[i].kind == search::element_kind::residual_begin;
    auto spec = net.spec(i);
    bool const skips = makes_two_gradients(net, begin ? net[i].partner : i);
    spec.saved_values = 0;
    spec.forward_values = begin ? 0 : 3.0 * count(spec.y);
    spec.backward_values = begin || skips ? 3.0 * count(spec.y) : 0;
    net.layers.push_back(spec);
    net[i].layer = static_cast<int>(net.layers.size()) - 1;
  }
  // Makes segments. A segment contains complete residuals, or lies inside a residual. It may also
  // contain complete branches, but never lies inside a branch.
  int whole = 0;         // all elements before this index have been visited
  bool goes_on = false;  // whether the last segment may be extended
  for (int i = 0; i < net.size(); ++i) {
    if (i < whole) continue;
    if (net[i].kind == search::element_kind::residual_end || draw.below(3) == 0) {
      goes_on = false;
      if (net[i].kind == search::element_kind::branch_begin) whole = end_of(net, i) + 1;
      continue;
    }
    int const number = goes_on && draw.below(2) ? net.segments - 1 : net.segments++;
    whole = end_of(net, i) + 1;
    for (int j = i; j < whole; ++j) net[j].segment = number;
    goes_on = true;
  }
  if (net.size() > 0 && draw.below(2) && net.spec(0).parameters.size() > 0 &&
      net[0].kind == search::element_kind::layer) {
    auto first = net.spec(0);
    first.backward = search::backward_form::separable;
    net.layers.push_back(without_dx(first));
    net[0].layer = static_cast<int>(net.layers.size()) - 1;
  }
}

/// Returns a plan in which each layer and residual gets a random legal choice. Some layers store
/// their parameters at random placements, and update some of them at other placements.
inline search::plan any_plan(search::problem const& net, ashlar::topology const& t,
                             ashlar::machine const& m, random_cases& draw) {
  search::plan plan;
  plan.mesh = t;
  plan.recomputed = draw.below(net.segments + 1);
  std::vector<std::vector<search::layer_choice>> choices;
  for (auto const& spec : net.layers)
    choices.push_back(search::layer_choices(spec, t, search::trivial_axes::all_rows));
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].kind == search::element_kind::residual_end) {
      plan.choices.push_back(search::layer_choice(plan[net[i].partner]));
      continue;
    }
    auto const& list = choices[static_cast<std::size_t>(net[i].layer)];
    auto choice = list[static_cast<std::size_t>(draw.below(static_cast<int>(list.size())))];
    if (draw.below(3) == 0)
      for (int k = 0; k < choice.parameters.size(); ++k) {
        auto const all = all_placements(net.spec(i).parameters[k].extents.rank(), t.axes(), {});
        auto const any = [&] {
          return all[static_cast<std::size_t>(draw.below(static_cast<int>(all.size())))];
        };
        choice.parameters[k].store = any();
        if (draw.below(2) == 0) choice.parameters[k].set_update(any());
      }
    plan.choices.push_back(choice);
  }
  for (int i = 0; i < net.size(); ++i)
    if (net[i].kind == search::element_kind::branch_turn) {
      int const end = net[i].partner;
      plan.choices[static_cast<std::size_t>(i)] = turn_between(plan[net[end].partner], plan[end]);
    }
  search::predict(plan, net, m);
  return plan;
}

/// A random network with a random plan, and the program of its step.
struct programmed {
  ashlar::topology mesh;
  ashlar::machine machine;
  search::problem net;
  search::plan plan;
  search::program serial;

  explicit programmed(random_cases& draw)
      : mesh(draw.mesh()), machine(draw.machine()), net(draw.net()) {
    vary(net, draw);
    plan = any_plan(net, mesh, machine, draw);
    serial = build(net, plan, machine);
  }

  /// Delays some gradients of the plan at random, by up to two steps.
  void delay(random_cases& draw) {
    for (auto& c : plan.choices)
      for (auto& p : c.parameters) p.delay = draw.below(3);
    search::predict(plan, net, machine);
    serial = build(net, plan, machine);
  }

  /// Returns the programs that each optimization pass makes of this program, with several options,
  /// and the program that all passes together make.
  std::vector<search::program> passed() const {
    std::vector<search::program> list{early_moves(serial).made};
    for (std::int64_t const bytes : {0, 100, 1 << 20})
      list.push_back(early_synchronization(list[0], bytes).made);
    for (auto const often : {search::gathered::each_pass, search::gathered::once_a_micro_batch,
                             search::gathered::once_a_step})
      for (int const ahead : {1, 3}) {
        list.push_back(prefetch(serial, {ahead, often}).made);
        list.push_back(prefetch(list[3], {ahead, often}).made);
      }
    list.push_back(early_moves(list.back()).made);
    for (auto const ends : {search::turn_ends::at_gathers, search::turn_ends::at_moves}) {
      list.push_back(take_turns(serial, 2, ends).made);
      list.push_back(early_moves(list.back()).made);
      list.push_back(prefetch(early_synchronization(list.back(), 100).made).made);
    }
    for (std::int64_t const bytes : {0, 100, 1 << 20})
      list.push_back(early_renewal(bytes == 0 ? serial : list[1], bytes).made);
    list.push_back(overlapped(serial, machine).made);
    if (!has_delays(plan)) return list;
    for (std::int64_t const bytes : {0, 100}) {
      auto const numbers = search::buckets_of_size(serial, bytes);
      for (auto const& starts :
           {search::spread_starts(serial, numbers, machine), search::undelayed_starts(serial)})
        list.push_back(early_synchronization(serial, numbers, 0, starts).made);
    }
    return list;
  }
};

}  // namespace ashlar_test
