// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A lower bound of the seconds of a step with overlap, whatever the strategies of the parameters. A
// step takes at least as long as its computations, and at least as long as either of the two links
// is busy. So for any weight w between 0 and 1:
//
//   seconds >= work
//   seconds >= w * busy inside nodes + (1 - w) * busy between nodes
//
// The right side of the second line is a sum over the moves of a step. Each parameter counts with
// the strategy for which its part of the sum is least. Program passes may put moves of parameters
// into common messages, and may gather a parameter once for a whole step (step/prefetch.hpp). So
// here a message of a parameter has no latency, and a gather counts once. The time of encoding does
// not count. Program passes do not change any other moves.

#include <algorithm>

#include <ashlar/search/cost.hpp>
#include <ashlar/step/transfer.hpp>
#include <ashlar/sync/strategies.hpp>

namespace ashlar::sync::detail {

/// The seconds for which moves occupy the two links.
struct busy_links {
  double intra = 0, inter = 0;

  constexpr double weighed(double weight) const { return weight * intra + (1 - weight) * inter; }
  constexpr void add(busy_links const& other, double times) {
    intra += times * other.intra;
    inter += times * other.inter;
  }
};

/// Returns the same machine with links without latency: a message takes only the time of its bytes.
constexpr machine without_latency(machine m) {
  for (auto* l : {&m.intra, &m.inter}) l->alpha = 0;
  for (auto* links : {&m.intra_of, &m.inter_of})
    for (auto& l : links->of) l.alpha = 0;
  return m;
}

/// Returns how long a redistribution occupies the links of machine `m`, if it consists of the steps
/// that are planned for machine `planned_on`.
constexpr busy_links busy_of(shape const& extents, int element_size, placement const& from,
                             placement const& to, topology const& t, machine const& planned_on,
                             machine const& m, wire_format const& wire = {}) {
  busy_links busy;
  if (from == to) return busy;
  for (auto const& s : plan_encoded(extents, element_size, from, to, wire, t, planned_on).steps) {
    if (!communicates(s.kind)) continue;
    (search::tier_of(s, t) == link_tier::inter_node ? busy.inter : busy.intra) += link_seconds(
        s, extents, element_size, t, m);
  }
  return busy;
}

/// Equal parameters: their number, and how long each strategy of one of them occupies the links.
struct counted_parameter {
  search::parameter_choice placements;
  shape extents;
  double times = 1;
  std::vector<busy_links> busy;
};

/// Adds parameter `p` to the list. If the list already has an equal parameter, instead increases
/// how often that parameter counts (`times`).
template <int N>
constexpr void count(std::vector<counted_parameter>& list, search::basic_problem<N> const& net,
                     topology const& t, search::parameter_choice const& p, shape const& extents,
                     machine const& m, wire_list const& wires) {
  using search::moved, search::phase;
  for (auto& it : list)
    if (it.extents == extents && it.placements == p) {
      it.times += 1;
      return;
    }
  list.push_back({p, extents, 1, {}});
  auto const fast = without_latency(m);
  int const value = element_size(net, moved::parameter);
  int const gradient = element_size(net, moved::parameter, phase::synchronize);
  for (auto const& s : strategies(p, extents, t, wires)) {
    busy_links busy = busy_of(extents, value, s.store, s.use, t, m, fast);
    busy.add(busy_of(extents, gradient, s.grad, s.updated_at(), t, m, fast, s.wire), 1);
    busy.add(busy_of(extents, value, s.updated_at(), s.store, t, m, fast), 1);
    list.back().busy.push_back(busy);
  }
}

/// Returns a lower bound of the overlapped seconds of a step, whatever strategies the parameters
/// have.
template <int N>
constexpr double overlapped_bound(search::basic_problem<N> const& net,
                                  search::basic_plan<N> const& chosen, machine const& m,
                                  wire_list const& wires) {
  using search::moved, search::phase;
  auto const& t = chosen.mesh;
  double work = 0;
  busy_links fixed;
  search::planned_moves prices(t, m);
  for_each_price(net, chosen, prices,
                 [&](int, phase when, search::spent what, search::move_price const& price) {
                   if (what == search::spent::work || what == search::spent::halo)
                     work += times_per_step(net, when, what) * price.seconds;
                 });
  struct visitor {
    search::basic_problem<N> const& net;
    topology const& t;
    machine const& m;
    busy_links& busy;
    constexpr void compute(phase, search::computation, int, int) {}
    constexpr void move(phase when, moved what, int, shape const& extents, placement const& from,
                        placement const& to) {
      if (what != moved::parameter)
        busy.add(busy_of(extents, element_size(net, what, when), from, to, t, m, m),
                 times_per_step(net, when));
    }
  };
  std::vector<counted_parameter> parameters;
  for (int i = 0; i < net.size(); ++i) {
    auto const runs = net.runs(i, chosen.recomputed);
    visitor visit{net, t, m, fixed};
    if (i > 0)
      search::for_each_crossing(runs, [&](phase when) {
        bool const back = when == phase::backward;
        visit_boundary(when, boundary_extents(net, i - 1), back ? chosen[i].dx : chosen[i - 1].y,
                       back ? chosen[i - 1].dy : chosen[i].x, visit);
      });
    search::for_each_phase(runs,
                           [&](phase when) { visit_element(when, net.spec(i), chosen[i], visit); });
    for (int k = 0; k < chosen[i].parameters.size(); ++k) {
      auto const& spec = net.spec(i).parameters[k];
      // The two uses of a tied parameter have a common strategy. They are left out, which only
      // makes the bound lower.
      if (spec.tie != search::tie_role::none) continue;
      count(parameters, net, chosen.mesh, chosen[i].parameters[k], spec.extents, m, wires);
    }
  }
  double best = work;
  for (double const weight : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    double sum = fixed.weighed(weight);
    for (auto const& p : parameters) {
      double least = p.busy[0].weighed(weight);
      for (auto const& busy : p.busy) least = std::min(least, busy.weighed(weight));
      sum += p.times * least;
    }
    best = std::max(best, sum);
  }
  return best;
}

}  // namespace ashlar::sync::detail
