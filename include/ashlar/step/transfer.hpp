// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The load of a program's moves on the links. A move is a redistribution of one tensor. A bucket is
// a set of moves whose steps run together, so that they share messages. A transfer is one step of a
// move or of a bucket:
//
//   messages   the largest number of messages among its moves
//   elements   the sum of the elements of its moves
//   link       between nodes if the group of ranks spans nodes, else inside a node
//
// Each tensor of a bucket is divided into the same parts as without a bucket. So sums have the same
// order of addends, and the same bits.
//
// Slices and zero-pads are local: they take no time.

#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns whether steps of this kind can run for a whole bucket at once. A bucket is a set of
/// redistributions that share their messages. In steps of these kinds, each rank has one part of
/// every tensor. So the parts of several tensors can be joined into one (tensor/bucket.hpp).
constexpr bool travels_in_buckets(collective kind) {
  return kind == collective::all_reduce || kind == collective::reduce_scatter ||
         kind == collective::all_gather || !communicates(kind);
}

/// Returns whether moves with the redistribution plans a and b may be in one bucket. Their steps
/// must be the same collectives on the same axes with the same wires, of kinds that a bucket
/// allows. At least one step must communicate.
constexpr bool travel_together(redistribution_plan const& a, redistribution_plan const& b) {
  if (a.steps.size() != b.steps.size() || a.element_size != b.element_size || a.is_local() ||
      !(a.wire == b.wire))
    return false;
  for (int k = 0; k < a.steps.size(); ++k)
    if (a.steps[k].kind != b.steps[k].kind || !(a.steps[k].wire == b.steps[k].wire) ||
        !(a.steps[k].axes == b.steps[k].axes) || !travels_in_buckets(a.steps[k].kind))
      return false;
  return true;
}

/// Returns which link a step uses: inside a node or between nodes. Expects a step that
/// communicates.
constexpr link_tier tier_of(redistribution_step const& s, topology const& t) {
  for (auto const a : s.axes)
    if (t.axis[a].tier == link_tier::inter_node && t.extent(a) > 1) return link_tier::inter_node;
  return link_tier::intra_node;
}

/// Returns the messages and elements by which the cost model prices a step of `path`. No rank
/// receives more (priced_traffic in plan/redistribution_step.hpp).
constexpr traffic transfer_traffic(redistribution_plan const& path, redistribution_step const& s,
                                   topology const& t) {
  if (!communicates(s.kind)) return {};
  return priced_traffic(s, t, shards_of(path.extents, t, s.from), shards_of(path.extents, t, s.to));
}

/// The seconds in which links carry one redistribution by itself, outside of a bucket. The seconds
/// of encoding and decoding do not count.
struct carried_seconds {
  double latency = 0;  ///< seconds of its messages
  double rest = 0;     ///< seconds of its bytes
};

/// Returns the seconds in which the links of machine `m` carry the steps of `path`.
constexpr carried_seconds carried_time(redistribution_plan const& path, topology const& t,
                                       machine const& m) {
  double whole = 0, latency = 0;
  for (auto const& s : path.steps) {
    auto const load = transfer_traffic(path, s, t);
    whole += seconds(m, t, s.axes, s.carried_by(), load, s.unit_bytes(path.element_size));
    latency += seconds(m, t, s.axes, s.carried_by(), {load.messages, 0}, 1);
  }
  return {latency, whole - latency};
}

/// A departure is a set of begin_moves that begin together: all begin_moves of a bucket, or a
/// single begin_move. They are among the actions with indices first .. end-1. Releases in this
/// range do not belong to the departure.
struct departure {
  int first = 0, end = 0;

  /// Returns the departure that begins with the action with index `first`.
  static constexpr departure at(program const& p, int first) {
    auto const& begun = p.actions[static_cast<std::size_t>(first)];
    int const bucket = p.move_of(begun).bucket;
    int end = first + 1;
    for (int k = end; bucket >= 0 && k < static_cast<int>(p.actions.size()); ++k) {
      auto const& next = p.actions[static_cast<std::size_t>(k)];
      if (next.kind == action_kind::release) continue;
      if (next.kind != action_kind::begin_move || p.move_of(next).bucket != bucket) break;
      end = k + 1;
    }
    return {first, end};
  }

  /// Calls f(k) for each move that these begin_moves start. k is the index of the move in
  /// program::moves.
  template <class F>
  constexpr void for_each_move(program const& p, F f) const {
    for (int k = first; k < end; ++k) {
      auto const& a = p.actions[static_cast<std::size_t>(k)];
      if (a.kind == action_kind::begin_move) f(a.move);
    }
  }
};

/// The seconds of one step of the moves that begin together: for how long the link carries it, and
/// for how long the processor encodes and decodes the tensors.
struct transfer_cost {
  double link = 0;
  coding_time coding;
  constexpr double sum() const { return link + coding.sum(); }
};

/// Returns the seconds of step number `k` of the moves that begin together in a departure. The
/// moves also run this step together.
constexpr transfer_cost transfer_seconds(program const& p, departure const& d, int k,
                                         machine const& m) {
  traffic load;
  transfer_cost cost;
  redistribution_plan const* path = nullptr;
  d.for_each_move(p, [&](int number) {
    path = &p.path_of(p.moves[static_cast<std::size_t>(number)]);
    traffic const own = transfer_traffic(*path, path->steps[k], p.mesh);
    load.messages = own.messages > load.messages ? own.messages : load.messages;
    load.elements += own.elements;
    auto const coding = coding_seconds(path->steps[k], path->extents, p.mesh, m);
    cost.coding.before += coding.before;
    cost.coding.after += coding.after;
  });
  auto const& s = path->steps[k];
  cost.link = seconds(m, p.mesh, s.axes, s.carried_by(), load, s.unit_bytes(path->element_size));
  return cost;
}

}  // namespace step
}  // namespace ashlar::search
