// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says where a chain of layers can be cut into pipeline stages, and makes the chain of a stage.
// stage_limits cuts only between repeated blocks and gives every stage equally many blocks.
// (best_cut.hpp finds other cuts.) The first stage also gets all elements before the first block,
// and the last stage all elements after the last block. In this example, four blocks form two
// stages:
//
//   embedding  block  block  |  block  block  norm  linear  loss
//
// Blocks are found by comparing the elements of the chain. A block is the sequence of layers and
// complete residual blocks whose repetitions, one directly after the other, cover most of the
// chain. If several sequences cover equally many elements, the shortest one is the block.
//
// Each stage can recompute its first segments. The number of recomputed segments may differ between
// stages. If a boundary between stages divides a segment, the two parts count as two segments.

#include <algorithm>
#include <vector>

#include <ashlar/step/plan.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::search {

/// Describes `count` equal blocks of `size` elements each. The first one begins at element `first`.
struct repeated_blocks {
  int first = 0;
  int size = 0;
  int count = 0;
  friend constexpr bool operator==(repeated_blocks const&, repeated_blocks const&) = default;
};

namespace detail {

/// Returns the indices of the elements before which the chain can be cut into stages: all elements
/// that are not inside a residual block, a branch or a mixture of experts. Cuts inside a skip are
/// permitted. The last entry is the number of all elements.
template <int N>
constexpr std::vector<int> cutting_points(basic_problem<N> const& net) {
  std::vector<int> points;
  for (int i = 0; i < net.size(); ++i) {
    if (!net.spec(i).x.is_routed()) points.push_back(i);
    int const end = end_of(net, i);
    if (net[i].kind != element_kind::residual_begin || ends_in_sum(net, end)) i = end;
  }
  points.push_back(net.size());
  return points;
}

/// Returns the index in `points` (cutting points, ascending) of each of the points `limits`.
inline std::vector<int> units_of(std::vector<int> const& points, std::vector<int> const& limits) {
  std::vector<int> units;
  for (int const at : limits)
    units.push_back(
        static_cast<int>(std::lower_bound(points.begin(), points.end(), at) - points.begin()));
  return units;
}

/// Returns whether two layers are equal. They may differ in whether the backward pass computes dx,
/// which the first layer of a net omits.
constexpr bool same_layer(layer_spec const& a, layer_spec const& b) {
  if (!(a.name == b.name && a.x == b.x && a.y == b.y) ||
      a.parameters.size() != b.parameters.size() || !(a.rows == b.rows))
    return false;
  for (int k = 0; k < a.parameters.size(); ++k)
    if (!(a.parameters[k].extents == b.parameters[k].extents)) return false;
  return true;
}

/// Returns whether elements a and b of the chain are equal, apart from their positions.
template <int N>
constexpr bool alike(basic_problem<N> const& net, int a, int b) {
  bool const tied = net[a].kind != element_kind::layer;
  return net[a].kind == net[b].kind &&
         (net[a].layer == net[b].layer || same_layer(net.spec(a), net.spec(b))) &&
         (!tied || net[a].partner - a == net[b].partner - b);
}

}  // namespace detail

/// Returns the repeated blocks of a chain. If nothing repeats, returns one block of all elements.
template <int N>
constexpr repeated_blocks find_blocks(basic_problem<N> const& net) {
  auto const cut = detail::cutting_points(net);
  int const units = static_cast<int>(cut.size()) - 1;
  repeated_blocks best{0, net.size(), 1};
  int covered = 0;
  for (int period = 1; 2 * period <= units; ++period) {
    // Each iteration measures how often the elements from cut.data()[u] on repeat with this period.
    for (int u = 0; u + 2 * period <= units;) {
      int const first = cut.data()[u], size = cut.data()[u + period] - first;
      int end = first + size;
      while (end < net.size() && detail::alike(net, end, end - size)) ++end;
      int const count = (end - first) / size;
      if (count >= 2 && count * size > covered) {
        covered = count * size;
        best = {first, size, count};
      }
      // Continue with the next position at which another repetition of this period can begin.
      int const passed = count >= 2 ? first + (count - 1) * size : first;
      while (u + 2 * period <= units && cut.data()[u] <= passed) ++u;
    }
  }
  return best;
}

/// Returns the index of the first element of each of `stages` stages, followed by the number of all
/// elements. Expects that `stages` divides the number of blocks.
template <int N>
constexpr std::vector<int> stage_limits(basic_problem<N> const& net, repeated_blocks const& blocks,
                                        int stages) {
  std::vector<int> limits{0};
  for (int s = 1; s < stages; ++s)
    limits.push_back(blocks.first + blocks.count / stages * s * blocks.size);
  limits.push_back(net.size());
  return limits;
}

/// Returns the elements first .. last - 1 as a chain of their own. The new chain holds the saved
/// activations of `in_flight` micro-batches at a time. It recomputes the segments that `net`
/// recomputes. If only one end of a skip is among these elements, that end becomes a layer. Expects
/// that no residual block is cut.
template <int N>
constexpr basic_problem<N> stage_of(basic_problem<N> const& net, int first, int last,
                                    int in_flight) {
  basic_problem<N> stage;
  stage.element_size = net.element_size;
  stage.accumulation_size = net.accumulation_size;
  stage.micro_batches = net.micro_batches;
  stage.updates_apart = net.updates_apart;
  stage.in_flight = in_flight;
  stage.stages_before = first > 0;
  stage.stages_after = last < net.size();
  stage.optimizer_states = net.optimizer_states;
  for (int i = first; i < last; ++i) {
    int const own = net[i].segment, other = net[i].partner;
    if (other >= first && other < last) stage.add(net.spec(i), net[i].kind, other - first);
    else stage.add(net.spec(i));
    if (own < 0) continue;
    bool const begins = i == first || net[i - 1].segment != own;
    stage.segments += begins;
    stage.recomputed += begins && own < net.recomputed;
    stage[i - first].segment = stage.segments - 1;
  }
  for (auto const& t : net.ties) {
    bool const has_first = t.first >= first && t.first < last,
               has_later = t.later >= first && t.later < last;
    if (has_first && has_later) {
      stage.ties.push_back({t.first - first, t.first_index, t.later - first, t.later_index});
    } else if (has_first || has_later) {
      int const i = (has_first ? t.first : t.later) - first;
      auto spec = stage.spec(i);
      spec.parameters[has_first ? t.first_index : t.later_index].is_apart = true;
      stage.replace(i, spec);
    }
  }
  return stage;
}

/// Returns the placements of the elements first .. last - 1 as a plan of their own, which
/// recomputes the first `recomputed` segments. Its predicted seconds and memory are not set.
template <int N, int M>
constexpr basic_plan<N> plan_of_range(basic_plan<M> const& whole, int first, int last,
                                      int recomputed) {
  basic_plan<N> own;
  own.mesh = whole.mesh;
  own.micro_batches = whole.micro_batches;
  own.recomputed = recomputed;
  own.plain_steps = whole.plain_steps;
  for (int i = first; i < last; ++i) own.choices.push_back(whole[i]);
  return own;
}

/// Returns whether any layer has a tied parameter. The other use of this parameter may be in
/// another stage.
template <int N>
constexpr bool has_tied_parameters(basic_problem<N> const& net) {
  for (auto const& spec : net.layers)
    for (auto const& p : spec.parameters)
      if (p.tie != tie_role::none) return true;
  return false;
}

/// Returns the problem in which the tied parameter of tie `t` must be stored at placement `store`.
template <int N>
constexpr basic_problem<N> with_storage(basic_problem<N> net, tie const& t,
                                        placement const& store) {
  auto first = net.spec(t.first), later = net.spec(t.later);
  first.parameters[t.first_index].store = later.parameters[t.later_index].store = store;
  net.replace(t.first, first);
  net.replace(t.later, later);
  return net;
}

/// Returns the problem in which every tied parameter must be stored where the plan stores it.
template <int N, int M>
constexpr basic_problem<N> with_storage_of(basic_problem<N> net, basic_plan<M> const& chosen) {
  for (auto const& t : net.ties)
    net = with_storage(net, t, chosen[t.first].parameters[t.first_index].store);
  return net;
}

/// Returns the chain in which the first recomputed[s] segments of every stage s are recomputed.
/// Expects that stage s has at least recomputed[s] segments. A chain always recomputes the segments
/// with the lowest numbers. So this function renumbers the segments such that the recomputed ones
/// come first. The memory of a stage must be computed from stage_of, not from this chain.
template <int N>
constexpr basic_problem<N> in_stages(basic_problem<N> net, std::vector<int> const& limits,
                                     std::vector<int> const& recomputed) {
  net.recomputed = 0;
  for (int const n : recomputed) net.recomputed += n;
  int next = 0, next_kept = net.recomputed;
  for (std::size_t s = 0; s < recomputed.size(); ++s)
    for (int i = limits.data()[s], before = -1, met = 0, number = -1; i < limits.data()[s + 1];
         ++i) {
      int const own = net[i].segment;
      if (own >= 0 && own != before) number = met++ < recomputed.data()[s] ? next++ : next_kept++;
      if (own >= 0) net[i].segment = number;
      before = own;
    }
  net.segments = next_kept;
  return net;
}

/// Returns, for every stage, how many of its segments `net` recomputes.
template <int N>
constexpr std::vector<int> recomputed_in_stages(basic_problem<N> const& net,
                                                std::vector<int> const& limits) {
  std::vector<int> list;
  for (std::size_t s = 0; s + 1 < limits.size(); ++s)
    list.push_back(stage_of(net, limits.data()[s], limits.data()[s + 1], 1).recomputed);
  return list;
}

}  // namespace ashlar::search
