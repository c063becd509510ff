// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Where the seconds and bytes of a plan go, element by element: what explain, diff and the page of
// a plan show. All figures are of one step on the busiest rank, micro-batches included.
//
//   work          computing
//   activations   moves of y -> x into the element, of its statistics and of its halo of x
//   gradients     moves of dx -> dy into the element, and of its halo of dx
//   parameters    gathering of its parameters, reduction of their gradients
//   received      bytes of all these moves
//   memory        kept and gathered, as in memory.hpp; `total` has their sum and their maximum
//
// Seconds add up to total_cost, memory to memory_per_rank: the tests hold them equal.

#include <vector>

#include <ashlar/search/cost.hpp>

namespace ashlar::search {

struct cost_breakdown {
  double work = 0, activations = 0, gradients = 0, parameters = 0;  ///< seconds
  double received = 0;  ///< bytes; of many micro-batches more than 63 bits count
  element_memory memory;

  constexpr double communication() const { return activations + gradients + parameters; }
  constexpr double seconds() const { return work + communication(); }
};

struct plan_breakdown {
  std::vector<scheduled_move> moves;     ///< in execution order
  std::vector<cost_breakdown> elements;  ///< one per element of the problem
  cost_breakdown total;

  constexpr std::int64_t memory() const { return total.memory.kept + total.memory.gathered; }
};

/// How often a move runs in one step.
template <int N>
constexpr int times_per_step(basic_problem<N> const& net, scheduled_move const& move) {
  return move.phase == phase::synchronize ? 1 : net.micro_batches;
}

/// The most bytes that a rank receives in one step of a redistribution.
constexpr std::int64_t received_bytes(redistribution_plan const& path, redistribution_step const& s,
                                      topology const& t) {
  if (!communicates(s.kind)) return 0;
  auto const load = priced_traffic(s, t, shards_of(path.extents, t, s.from),
                                   shards_of(path.extents, t, s.to));
  return load.elements * path.element_size;
}

/// The breakdown of a plan's cost on machine `m`. Expects a plan of this problem.
template <int N>
constexpr plan_breakdown breakdown(basic_problem<N> const& net, basic_plan<N> const& chosen,
                                   machine const& m) {
  plan_breakdown parts{schedule(net, chosen, m), {}, {}};
  parts.elements.resize(static_cast<std::size_t>(net.size()));
  for (auto const& move : parts.moves) {
    cost_breakdown& own = parts.elements[static_cast<std::size_t>(move.element)];
    int const times = times_per_step(net, move);
    (move.what == moved::gradient    ? own.gradients
     : move.what == moved::parameter ? own.parameters
                                     : own.activations) += times * move.plan.seconds;
    for (auto const& s : move.plan.steps)
      own.received += double(times) * double(received_bytes(move.plan, s, chosen.mesh));
  }
  int const moment = fullest_moment(net, chosen);
  for (int i = 0; i < net.size(); ++i) {
    cost_breakdown& own = parts.elements[static_cast<std::size_t>(i)];
    auto const runs = net.runs(i, chosen.recomputed);
    own.work = net.micro_batches *
               work_seconds(net.spec(i), chosen[i], chosen.mesh, m, net.element_size, runs);
    int const forward = runs == forward_runs::once ? 1 : 2;
    auto const load = halo_of(net.spec(i), chosen[i], chosen.mesh);
    auto const halo = halo_seconds(net.spec(i), chosen[i], chosen.mesh, m, net.element_size);
    own.activations += net.micro_batches * forward * halo.forward;
    own.gradients += net.micro_batches * halo.backward;
    own.received += double(net.micro_batches) * net.element_size *
                    double(forward * load.forward.elements + load.backward.elements);
    own.memory = memory_of(net, chosen, i, moment);
    parts.total.work += own.work;
    parts.total.activations += own.activations;
    parts.total.gradients += own.gradients;
    parts.total.parameters += own.parameters;
    parts.total.received += own.received;
    parts.total.memory.kept += own.memory.kept;
    if (own.memory.gathered > parts.total.memory.gathered)
      parts.total.memory.gathered = own.memory.gathered;
  }
  return parts;
}

}  // namespace ashlar::search
