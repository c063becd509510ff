// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the seconds and bytes of a plan, element by element (step/problem.hpp). The figures are
// for one step on the busiest rank, with all micro-batches. explain, diff and the HTML page of a
// plan show them.
//
//   work              computation
//   activations       moves of the element's input x (from y of the element before), of its
//                     statistics, and of the halo of x
//   gradients         moves of the element's gradient dy (from dx of the element after), and of
//                     the halo of dx
//   parameters        moves of its parameters and of their gradients
//   received          bytes received in all these moves
//   memory.kept       bytes held for the whole step, or from the forward to the backward pass
//   memory.running    the most bytes needed in addition while the element runs
//
// In `total`, memory.kept is the sum over all elements, and memory.running is the additional memory
// of the plan at its peak. The tests check that the seconds add up to total_cost, and the memory to
// memory_per_rank.

#include <algorithm>
#include <vector>

#include <ashlar/search/cost.hpp>
#include <ashlar/step/schedule.hpp>

namespace ashlar::search {

/// The memory of an element or of a plan, in bytes per rank.
struct memory_parts {
  std::int64_t kept = 0, running = 0;
  constexpr std::int64_t sum() const { return kept + running; }
};

struct cost_breakdown {
  double work = 0, activations = 0, gradients = 0, parameters = 0;  ///< seconds
  /// Bytes received by the busiest rank. The type is double, because with many micro-batches the
  /// number may exceed 63 bits.
  double received = 0;
  memory_parts memory;

  constexpr double communication() const { return activations + gradients + parameters; }
  constexpr double seconds() const { return work + communication(); }
};

struct plan_breakdown {
  std::vector<scheduled_move> moves;     ///< redistributions in execution order
  std::vector<cost_breakdown> elements;  ///< one per element of the problem
  cost_breakdown total;

  constexpr std::int64_t memory() const { return total.memory.sum(); }
};

/// Returns two parts of the memory of a layer:
/// - the bytes that it holds for the whole step or until its backward pass (kept)
/// - the bytes that it needs in addition while it runs (running)
constexpr memory_parts parts_of(element_bytes const& bytes) {
  std::int64_t const forward = bytes.again > 0 ? bytes.again : bytes.forward - bytes.saved;
  return {bytes.lasting + bytes.held, std::max(bytes.x + forward, bytes.dy + bytes.backward)};
}

/// Returns how often a step runs this redistribution: once, once per micro-batch, or once per group
/// of micro-batches that take turns.
template <int N>
constexpr int times_per_step(basic_problem<N> const& net, scheduled_move const& move) {
  return times_per_step(net, move.phase, move.what);
}

/// Returns the most bytes that any rank receives in step `s` of the redistribution plan `path`.
constexpr std::int64_t received_bytes(redistribution_plan const& path, redistribution_step const& s,
                                      topology const& t) {
  if (!communicates(s.kind)) return 0;
  auto const load = priced_traffic(s, t, shards_of(path.extents, t, s.from),
                                   shards_of(path.extents, t, s.to));
  return load.elements * s.unit_bytes(path.element_size);
}

/// An element's exchanges of halos with neighbouring ranks in one direction: of x before its
/// forward passes, or of dx after its backward pass.
struct halo_exchange {
  double times = 0;    ///< exchanges per step
  traffic load;        ///< what the busiest rank receives per exchange
  double seconds = 0;  ///< seconds per exchange
};

/// Returns how often layer i exchanges halos (the rows that windows of several ranks read), and the
/// cost of this. The halos are those of dx if `back` is true, otherwise those of x.
template <int N>
constexpr halo_exchange halo_exchange_of(basic_problem<N> const& net, basic_plan<N> const& chosen,
                                         int i, machine const& m, bool back) {
  layer_spec const& spec = net.spec(i);
  halo_exchange found;
  if (spec.halo.dim < 0) return found;
  struct visitor {
    basic_problem<N> const& net;
    halo_traffic load;
    halo_cost cost;
    bool back;
    halo_exchange& found;
    constexpr void compute(phase when, computation what, int part, int) {
      if (part > 0 || (when == phase::backward) != back || halo_with(what, load).elements == 0)
        return;
      found.times += times_per_step(net, when);
      found.load = halo_with(what, load);
      found.seconds = halo_with(what, cost);
    }
    constexpr void move(phase, moved, int, shape const&, placement const&, placement const&) {}
  };
  visitor visit{net, halo_of(spec, chosen[i], chosen.mesh),
                halo_seconds(spec, chosen[i], chosen.mesh, m, net.element_size), back, found};
  for_each_phase(net.runs(i, chosen.recomputed),
                 [&](phase when) { visit_element(when, spec, chosen[i], visit); });
  return found;
}

/// Returns the seconds and bytes of each element of a plan on machine `m`. Expects a plan of this
/// problem.
template <int N>
constexpr plan_breakdown breakdown(basic_problem<N> const& net, basic_plan<N> const& chosen,
                                   machine const& m) {
  plan_breakdown parts{schedule(net, chosen, m), {}, {}};
  parts.elements.resize(static_cast<std::size_t>(net.size()));
  planned_moves prices(chosen.mesh, m);
  for_each_price(net, chosen, prices, [&](int i, phase when, spent what, move_price const& price) {
    cost_breakdown& own = parts.elements[static_cast<std::size_t>(i)];
    double& seconds = what == spent::work        ? own.work
                      : what == spent::parameter ? own.parameters
                      : what == spent::gradient || (what == spent::halo && when == phase::backward)
                          ? own.gradients
                          : own.activations;
    seconds += times_per_step(net, when, what) * price.seconds;
  });
  for (auto const& move : parts.moves)
    for (auto const& s : move.plan.steps)
      parts.elements[static_cast<std::size_t>(move.element)].received +=
          double(times_per_step(net, move)) * double(received_bytes(move.plan, s, chosen.mesh));
  for (int i = 0; i < net.size(); ++i) {
    cost_breakdown& own = parts.elements[static_cast<std::size_t>(i)];
    for (bool const back : {false, true}) {
      auto const halo = halo_exchange_of(net, chosen, i, m, back);
      own.received += halo.times * net.element_size * double(halo.load.elements);
    }
    for (int k = 0; k < chosen[i].parameters.size(); ++k)
      if (chosen[i].parameters[k].in_rows)
        own.received += double(price_of_rows(row_exchange_of(net.spec(i), chosen[i], k, chosen.mesh,
                                                             net.micro_batches),
                                             net.accumulation_size, chosen.mesh, m)
                                   .bytes);
    own.memory = parts_of(memory_of(net, chosen, i));
    parts.total.work += own.work;
    parts.total.activations += own.activations;
    parts.total.gradients += own.gradients;
    parts.total.parameters += own.parameters;
    parts.total.received += own.received;
    parts.total.memory.kept += own.memory.kept;
  }
  parts.total.memory.running = memory_per_rank(net, chosen) - parts.total.memory.kept;
  return parts;
}

}  // namespace ashlar::search
