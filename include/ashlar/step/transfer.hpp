// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The load that a program's moves put on the links. A transfer is one step of a move, or of all
// moves of a bucket, whose steps travel together:
//
//   messages   the largest number of messages of any of the moves, since each message carries data
//              of all moves
//   elements   the sum over the moves
//   link       the slowest tier among the axes: between nodes if the group spans nodes
//
// A tensor in a bucket is cut into the same parts as if it moved alone, so its sums have the same
// order of addends.
//
// Slices and zero-pads stay inside the rank: they take no time and no link.

#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns whether steps of this kind can travel together: each rank of the group has one part of
/// every tensor, and the parts of several tensors join into one (tensor/bucket.hpp).
constexpr bool travels_in_buckets(collective kind) {
  return kind == collective::all_reduce || kind == collective::reduce_scatter ||
         kind == collective::all_gather || !communicates(kind);
}

/// Returns whether moves along two paths may form a bucket: their steps are the same collectives on
/// the same axes, of kinds that can travel together, and at least one of them communicates.
constexpr bool travel_together(redistribution_plan const& a, redistribution_plan const& b) {
  if (a.steps.size() != b.steps.size() || a.element_size != b.element_size || a.is_local())
    return false;
  for (int k = 0; k < a.steps.size(); ++k)
    if (a.steps[k].kind != b.steps[k].kind || !(a.steps[k].axes == b.steps[k].axes) ||
        !travels_in_buckets(a.steps[k].kind))
      return false;
  return true;
}

/// Returns the tier of the link that a step occupies. Expects a step that communicates.
constexpr link_tier tier_of(redistribution_step const& s, topology const& t) {
  for (auto const a : s.axes)
    if (t.axis[a].tier == link_tier::inter_node && t.extent(a) > 1) return link_tier::inter_node;
  return link_tier::intra_node;
}

/// Returns the most that a rank receives in a step of a path, in messages and elements.
constexpr traffic transfer_traffic(redistribution_plan const& path, redistribution_step const& s,
                                   topology const& t) {
  if (!communicates(s.kind)) return {};
  return priced_traffic(s, t, shards_of(path.extents, t, s.from), shards_of(path.extents, t, s.to));
}

/// Consecutive begin_moves that travel as one: those of a bucket, or a single one. They are among
/// the actions with indices first .. end-1; releases in this range are ignored.
struct departure {
  int first = 0, end = 0;

  /// Returns the departure that begins with the begin_move `first`.
  static constexpr departure at(program const& p, int first) {
    auto const& begun = p.actions[static_cast<std::size_t>(first)];
    int const bucket = p.move_of(begun).bucket;
    int end = first + 1;  // after the last of them
    for (int k = end; bucket >= 0 && k < static_cast<int>(p.actions.size()); ++k) {
      auto const& next = p.actions[static_cast<std::size_t>(k)];
      if (next.kind == action_kind::release) continue;
      if (next.kind != action_kind::begin_move || p.move_of(next).bucket != bucket) break;
      end = k + 1;
    }
    return {first, end};
  }

  /// Calls f(k) for each move, where k is its index in program::moves.
  template <class F>
  constexpr void for_each_move(program const& p, F f) const {
    for (int k = first; k < end; ++k) {
      auto const& a = p.actions[static_cast<std::size_t>(k)];
      if (a.kind == action_kind::begin_move) f(a.move);
    }
  }
};

/// Returns the seconds of step `k` of the moves that depart together.
constexpr double transfer_seconds(program const& p, departure const& d, int k, machine const& m) {
  traffic load;
  redistribution_plan const* path = nullptr;
  d.for_each_move(p, [&](int number) {
    path = &p.path_of(p.moves[static_cast<std::size_t>(number)]);
    traffic const own = transfer_traffic(*path, path->steps[k], p.mesh);
    load.messages = own.messages > load.messages ? own.messages : load.messages;
    load.elements += own.elements;
  });
  auto const& s = path->steps[k];
  return seconds(m, p.mesh, s.axes, s.kind, load, path->element_size);
}

}  // namespace step
}  // namespace ashlar::search
