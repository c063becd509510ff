// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Bytes that the fullest rank holds under a plan. |p| is the largest shard of a placement:
//
//   memory     = Σ elements kept, at the fullest moment + max over elements of gathered
//   kept       = saved  +  Σ parameters (2 + optimizer_states) · |store| · a
//                                       + |store| · e if e is not a
//                                       + |grad| · a where grad is not store
//   gathered   = Σ parameters |use| where use is not store
//              + max{ computing   |x| + |y|, |dx| + |dy|, with workspace and halos of x and dx
//                     moving      of x, y, dx, dy and parameters the largest, with its buffers }
//
// all but parameters times e, which is element_size; a: accumulation_size (element_size.hpp). (2: the
// value and its gradient; the copy of e bytes is what is gathered. Where the gradient is not left as
// it is stored, it is summed over the micro-batches in place, so both exist.) Activations of one
// micro-batch are alive at a time, so their number does not matter; in a pipeline stage those of
// problem::in_flight are, of which all but one wait between their passes. What one saves of an element:
//
//   moment                             before s    in s    behind s    of a recomputed segment
//   between forward and backward (-1)     all                          |x| of its first element
//   backward of recomputed segment s      all       all    nothing     as above, before s; all in s
//
// "All" is saved_values · |x| / elements of x: what layers save lies as their x does. A tensor that
// two neighbours save in one placement is counted twice though it is there once; what later elements
// saved is counted although it is gone when earlier ones go backward. Against that, of the shards
// before and after a move only the larger one counts. Buffers: plan/packing.hpp. What is measured
// is held against this by tests/mpi/nn_recompute_test.cpp.

#include <ashlar/layout/layout.hpp>
#include <ashlar/plan/packing.hpp>
#include <ashlar/step/element_size.hpp>
#include <ashlar/step/halo.hpp>
#include <ashlar/step/work.hpp>

namespace ashlar::search {
inline namespace step {

struct element_memory {
  std::int64_t kept = 0;      ///< bytes, for the whole step
  std::int64_t gathered = 0;  ///< bytes, while the element runs: activations and parameters in use
};

/// What an element holds of its forward pass for its backward pass. `least`: all or input, whichever
/// is less.
enum class saved_part : signed char { all, input, nothing, least };

/// The same of every micro-batch in flight: of those that wait for their backward passes, and of the
/// one that the moment is of.
struct saved_parts {
  saved_part waiting = saved_part::all, own = saved_part::all;
  constexpr saved_parts(saved_part of_each = saved_part::all) : waiting(of_each), own(of_each) {}
  constexpr saved_parts(saved_part of_waiting, saved_part of_own)
      : waiting(of_waiting), own(of_own) {}
  friend constexpr bool operator==(saved_parts const&, saved_parts const&) = default;
};

/// The bytes of one micro-batch on the fullest rank.
template <int N>
constexpr std::int64_t saved_bytes(basic_problem<N> const& net, layer_spec const& spec,
                                   layer_choice const& c, topology const& t, saved_part part) {
  if (part == saved_part::nothing) return 0;
  std::int64_t const input = max_local_elements(spec.x, t, c.x) * net.element_size;
  if (part == saved_part::input) return input;
  if (spec.saved_values <= 0) return 0;
  double const saved = spec.saved_values * double(input) / double(spec.x.elements());
  auto bytes = static_cast<std::int64_t>(saved);
  if (double(bytes) < saved) ++bytes;
  return part == saved_part::least && input < bytes ? input : bytes;
}

/// What one element adds to the two parts of the memory of its rank.
template <int N>
constexpr element_memory memory_of(basic_problem<N> const& net, layer_spec const& spec,
                                   layer_choice const& c, topology const& t,
                                   saved_parts parts = saved_part::all) {
  element_memory bytes;
  bytes.kept = saved_bytes(net, spec, c, t, parts.own);
  if (net.in_flight > 1)
    bytes.kept += (net.in_flight - 1) * saved_bytes(net, spec, c, t, parts.waiting);
  auto const workspace = static_cast<std::int64_t>(spec.workspace_values) * net.element_size;
  std::int64_t const x = max_local_elements(spec.x, t, c.x), y = max_local_elements(spec.y, t, c.y);
  std::int64_t const dx = max_local_elements(spec.x, t, c.dx),
                     dy = max_local_elements(spec.y, t, c.dy);
  std::int64_t computing = (x + y > dx + dy ? x + y : dx + dy) * net.element_size + workspace;
  if (spec.halo.dim >= 0) computing += 2 * halo_of(spec, c, t).forward.elements * net.element_size;
  std::int64_t moving = 0;
  auto const moves = [&](std::int64_t shard) {
    std::int64_t const held = shard + packing_bound(shard, t.ranks());
    if (t.ranks() > 1 && held > moving) moving = held;
  };
  for (std::int64_t const shard : {x, y, dx, dy}) moves(shard * net.element_size);
  for (int k = 0; k < spec.parameters.size(); ++k) {
    parameter_choice const& p = c.parameters.items[k];
    shape const& extents = spec.parameters.items[k].extents;
    std::int64_t const store = max_local_elements(extents, t, p.store);
    bytes.kept += stored_size(net) * store;
    if (!(p.grad == p.store)) {
      std::int64_t const grad = max_local_elements(extents, t, p.grad) * net.accumulation_size;
      bytes.kept += grad;
      moves(grad);
    }
    if (!(p.use == p.store)) {
      std::int64_t const use = max_local_elements(extents, t, p.use) * net.element_size;
      bytes.gathered += use;
      moves(use);
    }
  }
  bytes.gathered += computing > moving ? computing : moving;
  return bytes;
}

/// What element i holds of a micro-batch at a moment (see above) if the first `again` segments are
/// recomputed.
template <int N>
constexpr saved_part saved_at(basic_problem<N> const& net, int i, int again, int moment) {
  int const own = net[i].segment;
  if (moment >= 0) {
    if (own == moment) return saved_part::all;
    int later = i;
    while (later < net.size() && net[later].segment != moment) ++later;
    if (later == net.size()) return saved_part::nothing;
  }
  forward_runs const runs = net.runs(i, again);
  return runs == forward_runs::once              ? saved_part::all
         : runs == forward_runs::twice_from_here ? saved_part::input
                                                 : saved_part::nothing;
}

/// The moment at which most is saved, however many micro-batches are in flight: those that wait hold
/// as much at any. `bytes(i, part)`: of element i.
template <int N, class Bytes>
constexpr int fullest_moment(basic_problem<N> const& net, int again, Bytes const& bytes) {
  if (again == 0) return -1;
  auto saved = bytes(0, saved_part::nothing);  // zero, before element i as between the passes
  auto most = saved;
  int fullest = -1;
  for (int i = 0; i < net.size();) {
    int const own = net[i].segment;
    if (own < 0 || own >= again) {
      saved += bytes(i++, saved_part::all);
      continue;
    }
    auto made_again = saved;
    saved += bytes(i, saved_part::input);
    for (; i < net.size() && net[i].segment == own; ++i) made_again += bytes(i, saved_part::all);
    if (made_again > most) most = made_again, fullest = own;
  }
  return saved >= most ? -1 : fullest;
}

/// The moment of a plan at which a rank holds most.
template <int N>
constexpr int fullest_moment(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  return fullest_moment(net, chosen.recomputed, [&](int i, saved_part part) {
    return saved_bytes(net, net.spec(i), chosen[i], chosen.mesh, part);
  });
}

/// What an element adds under a plan, at such a moment.
template <int N>
constexpr element_memory memory_of(basic_problem<N> const& net, basic_plan<N> const& chosen, int i,
                                   int moment) {
  return memory_of(
      net, net.spec(i), chosen[i], chosen.mesh,
      {saved_at(net, i, chosen.recomputed, -1), saved_at(net, i, chosen.recomputed, moment)});
}

/// The moment that tables of choices are made for: when most is held if all is split alike; of
/// many numbers of segments the one that all have.
template <int N>
constexpr int usual_moment(basic_problem<N> const& net, recomputation const& again) {
  if (again.is_bound()) return -1;
  return fullest_moment(net, again.most, [&](int i, saved_part part) {
    return part == saved_part::all     ? net.spec(i).saved_values
           : part == saved_part::input ? double(net.spec(i).x.elements())
                                       : 0.0;
  });
}

/// What element i holds then, at least.
template <int N>
constexpr saved_parts usually_saved(basic_problem<N> const& net, int i, recomputation const& again,
                                    int moment) {
  auto const at = [&](int when) {
    saved_part const part = saved_at(net, i, again.most, when);
    return part == saved_part::input && net[i].segment >= again.least ? saved_part::least : part;
  };
  return {at(-1), at(moment)};
}

/// Bytes per rank of a plan's choices.
template <int N>
constexpr std::int64_t memory_per_rank(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  std::int64_t kept = 0, gathered = 0;
  int const moment = fullest_moment(net, chosen);
  for (int i = 0; i < net.size(); ++i) {
    auto const part = memory_of(net, chosen, i, moment);
    kept += part.kept;
    if (part.gathered > gathered) gathered = part.gathered;
  }
  return kept + gathered;
}

}  // namespace step
}  // namespace ashlar::search
