// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The objective (problem.hpp) in two forms that the tests hold equal: of a whole plan, read off its
// schedule, and of one element alone, from tables, which is what the algorithms add up.

#include <ashlar/step/halo.hpp>
#include <ashlar/step/memory.hpp>
#include <ashlar/step/schedule.hpp>

namespace ashlar::search {

/// Predicted seconds of a training step.
struct step_cost {
  double work = 0;           ///< computing, of the busiest rank
  double communication = 0;  ///< in collectives
  constexpr double seconds() const { return work + communication; }
};

/// The cost of a step under a plan, all micro-batches included.
template <int N>
constexpr step_cost total_cost(basic_problem<N> const& net, basic_plan<N> const& chosen,
                               machine const& m) {
  step_cost cost;
  for (auto const& move : schedule(net, chosen, m))
    cost.communication += (move.phase == phase::synchronize ? 1 : net.micro_batches) *
                          move.plan.seconds;
  for (int i = 0; i < net.size(); ++i) {
    auto const runs = net.runs(i, chosen.recomputed);
    cost.work += net.micro_batches *
                 work_seconds(net.spec(i), chosen[i], chosen.mesh, m, net.element_size, runs);
    cost.communication +=
        net.micro_batches *
        halo_seconds(net.spec(i), chosen[i], chosen.mesh, m, net.element_size).seconds(runs);
  }
  return cost;
}

/// Fills in what a plan predicts from its choices: seconds, memory, micro-batches and hash.
template <int N>
constexpr void predict(basic_plan<N>& chosen, basic_problem<N> const& net, machine const& m) {
  step_cost const cost = total_cost(net, chosen, m);
  chosen.seconds = cost.seconds();
  chosen.communication_seconds = cost.communication;
  chosen.memory = memory_per_rank(net, chosen);
  chosen.micro_batches = net.micro_batches;
  chosen.input = net.size() > 0 ? net.spec(0).x : shape{};
  chosen.problem_hash = hash(net);
}

/// What a choice costs in its element, apart from the boundaries.
struct element_cost {
  double work = 0;           ///< seconds of a step
  double communication = 0;  ///< seconds of a step
  double weight = 0;         ///< of both, with tie breaks
};

/// The planner's tables of a layer's parameter and of its gradient.
struct parameter_table {
  int value = 0, gradient = 0;
};
using parameter_tables = inplace_vector<parameter_table, max_parameters>;

template <int N, class Paths>
constexpr parameter_tables tables_of(basic_problem<N> const& net, layer_spec const& spec,
                                     Paths& paths) {
  int const value = element_size(net, moved::parameter);
  int const gradient = element_size(net, moved::parameter, phase::synchronize);
  parameter_tables tables;
  for (auto const& p : spec.parameters) {
    int const of_value = paths.table(p.extents, value);
    tables.push_back({of_value, gradient == value ? of_value : paths.table(p.extents, gradient)});
  }
  return tables;
}

template <int N, class Paths>
constexpr element_cost cost_of(basic_problem<N> const& net, layer_spec const& spec,
                               layer_choice const& c, Paths& paths, parameter_tables const& tables,
                               forward_runs runs = forward_runs::once) {
  double const batches = net.micro_batches;
  int const forward = runs == forward_runs::once ? 1 : 2;
  element_cost cost;
  cost.work = batches *
              work_seconds(spec, c, paths.mesh(), paths.priced_on(), net.element_size, runs);
  cost.communication =
      batches *
      halo_seconds(spec, c, paths.mesh(), paths.priced_on(), net.element_size).seconds(runs);
  cost.weight = cost.work + cost.communication;
  for (int k = 0; k < tables.count; ++k) {
    parameter_choice const& p = c.parameters.items[k];
    auto const gather = paths.move(tables.items[k].value, p.store, p.use);
    auto const synchronize = paths.move(tables.items[k].gradient, p.grad, p.store);
    double const times = batches * (forward + (spec.parameters.items[k].in_backward ? 1 : 0));
    cost.communication += times * gather.seconds + synchronize.seconds;
    cost.weight += times * gather.weight + synchronize.weight;
  }
  for (int k = 0; k < spec.statistics.size(); ++k) {
    auto const move = paths.move(spec.statistics.items[k], element_size(net, moved::statistic),
                                 c.statistics.items[k].from, c.statistics.items[k].to);
    cost.communication += forward * batches * move.seconds;
    cost.weight += forward * batches * move.weight;
  }
  return cost;
}

template <int N, class Paths>
constexpr element_cost cost_of(basic_problem<N> const& net, layer_spec const& spec,
                               layer_choice const& c, Paths& paths,
                               forward_runs runs = forward_runs::once) {
  return cost_of(net, spec, c, paths, tables_of(net, spec, paths), runs);
}

}  // namespace ashlar::search
