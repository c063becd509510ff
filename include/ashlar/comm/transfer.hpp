// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer describes the data that one rank sends and receives in one redistribution step: which
// elements come from which member of the group, and where these elements are written. It is
// computed once from the step and stored with the plan. A transfer does not determine how the
// elements travel: directly from another rank's shard (shared/direct_transfer.hpp) or as messages
// (mpi/message_transfer.hpp).
//
// In the table, a rank's box is the range of tensor indices of its shard, before or after the step.
//
//   transfer                          data that this rank receives
//   all_gather, all_to_all, permute   from each member j: its box before ∩ my box after
//   reduce_scatter                    from every member: its addend of my box after; I reduce these
//   all_reduce                        The flat shard has one balanced part per member. From every
//                                     member I receive its addend of my part and reduce these. Then
//                                     I receive from every member its reduced part.
//   broadcast                         from the root: its flat array
//   reduce                            if I am the root, from every member: its flat array; I reduce
//                                     these arrays
//   slice, zero_pad                   from myself: my box before ∩ my box after. If a zero_pad
//                                     turns a B axis into P, only the ranks with coordinate 0 on
//                                     this axis receive this.
//
// Every transport combines the addends in the order `sums` (sum_order.hpp). Sums are computed in
// accumulation_t of the element type and rounded once.

#include <algorithm>
#include <vector>

#include <ashlar/comm/strided_block.hpp>
#include <ashlar/comm/sum_order.hpp>
#include <ashlar/placement/code.hpp>
#include <ashlar/plan/redistribution_step.hpp>

namespace ashlar {

struct transfer {
  collective kind = collective::slice;
  axis_list axes;
  reduction op = reduction::sum;
  sum_order sums = sum_order::around_ring;
  int members = 1;  ///< number of ranks in the group
  int index = 0;    ///< position of this rank in the group
  /// The index in the group of the partner (pairwise permute) or of the root (broadcast, reduce);
  /// otherwise -1.
  int partner = -1;
  box from, to;  ///< indices of this rank's shard before and after the transfer
  /// Number of elements of the largest shard of any member before the transfer.
  std::int64_t largest_source = 0;
  /// zero_pad only: all elements outside the block of `receives` become the identity of `op`.
  bool pads = false;
  /// The extents of the tensor that moves, and its placements before and after the redistribution
  /// step to which the transfer belongs. For flat arrays that belong to no step, `extents` has no
  /// dims (flat_all_reduce, flat_rooted) or one (counted_transfer.hpp). Used only by the
  /// fingerprint, error messages and the checked mode (comm/checked_mode.hpp).
  shape extents;
  placement before, after;
  /// The wire of the step (plan/wire.hpp). If the wire encodes blocks (encoded_transfer.hpp),
  /// encoded_bytes is the size of the source in a reduce-scatter, and of the target in an
  /// all-gather. This size is the same on all members.
  wire_format wire{};
  std::int64_t encoded_bytes = 0;
  /// One block per member, including this rank. receives[j] is copied from member j's shard into
  /// this rank's shard, and sends[j] from this rank's shard into member j's shard. A local step has
  /// no `sends`, and `receives` has one block, or none if this rank receives nothing. In a
  /// reduction, a block of `receives` describes the addends of all members, since their shards have
  /// the same layout.
  std::vector<strided_block> receives, sends;
  /// A hash of all that the members of the group must agree on (set_fingerprint). Ranks that share
  /// memory compare it (shared/handshake.hpp).
  std::uint32_t fingerprint = 0;

  /// Returns the number of elements of this rank's source or target, whichever is larger. It is the
  /// same on all members if the arrays are flat (all-reduce, broadcast, reduce).
  std::int64_t flat_elements() const { return std::max(from.elements(), to.elements()); }

  void set_fingerprint() {
    std::uint64_t hash = 0;
    auto const add = [&](auto value) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    };
    add(kind);
    for (auto const a : axes) add(a);
    add(op);
    add(sums);
    if (is_rooted(kind)) add(partner);
    if (extents.rank() == 0) add(flat_elements());
    for (auto const n : extents.extent) add(n);
    add(code_of(before));
    add(code_of(after));
    if (!wire.is_exact()) {
      for (int const part : wire.parts()) add(part);
      add(encoded_bytes);
    }
    fingerprint = static_cast<std::uint32_t>(hash);
  }

  bool reduces() const { return ashlar::reduces(kind); }
  /// Returns the member whose addend is number `i` in the sum of member `owner`'s part.
  int addend_at(int i, int owner) const { return ashlar::addend_at(sums, i, owner, members); }
  /// Returns the number of elements that this rank receives, computed from the blocks. An
  /// all-reduce counts as reduce-scatter plus all-gather.
  std::int64_t received_elements() const {
    std::int64_t elements = 0;
    auto const mine = static_cast<std::size_t>(index);
    if (reduces()) elements += (members - 1) * receives[mine].elements;
    if (reduces() && kind != collective::all_reduce) return elements;
    for (std::size_t j = 0; j < receives.size(); ++j)
      if (j != mine) elements += receives[j].elements;
    return elements;
  }
};

namespace detail {

inline box flat_box(interval const& part) {
  box b;
  b.dim.push_back(part);
  return b;
}

/// Returns the block that copies the range `part` of a flat array of `whole` elements to the same
/// range of another flat array.
inline strided_block flat_block(interval const& part, std::int64_t whole) {
  return {flat_box(part), flat_box({0, whole}), flat_box({0, whole})};
}

}  // namespace detail

/// Returns the transfer of the rank at coordinates `here` for an all-reduce along `axes` of flat
/// arrays with `elements` elements.
inline transfer flat_all_reduce(std::int64_t elements, axis_list const& axes, topology const& t,
                                coordinates const& here, reduction op,
                                sum_order sums = sum_order::around_ring) {
  transfer x;
  x.kind = collective::all_reduce;
  x.axes = axes;
  x.op = op;
  x.sums = sums;
  x.members = t.group_size(axes);
  x.index = t.index_in_group(here, axes);
  x.from = x.to = detail::flat_box({0, elements});
  x.largest_source = elements;
  for (int j = 0; j < x.members; ++j) {
    auto const part = detail::flat_block(balanced_part({0, elements}, x.members, j), elements);
    x.sends.push_back(part);
    x.receives.push_back(part);
  }
  x.set_fingerprint();
  return x;
}

/// Returns a transfer along `axes` from or to member `root` of the group. A broadcast copies the
/// flat array of `root` to all members. A reduce reduces all members' arrays into the array of
/// `root`.
inline transfer flat_rooted(collective kind, std::int64_t elements, axis_list const& axes,
                            topology const& t, coordinates const& here, int root,
                            reduction op = reduction::sum,
                            sum_order sums = sum_order::around_ring) {
  transfer x;
  x.kind = kind;
  x.axes = axes;
  x.op = op;
  x.sums = sums;
  x.members = t.group_size(axes);
  x.index = t.index_in_group(here, axes);
  x.partner = root;
  x.from = x.to = detail::flat_box({0, elements});
  x.largest_source = elements;
  auto const whole = detail::flat_block({0, elements}, elements);
  bool const is_root = x.index == root;
  for (int j = 0; j < x.members; ++j) {
    bool const gives = kind == collective::broadcast ? is_root : j == root;
    bool const takes = kind == collective::broadcast ? j == root : is_root;
    x.sends.push_back(gives ? whole : strided_block());
    x.receives.push_back(takes ? whole : strided_block());
  }
  x.set_fingerprint();
  return x;
}

/// Returns the transfer of the rank at coordinates `here` for step `s` of a tensor with these
/// extents. The step must not have a wire that encodes blocks (encoded_transfer.hpp). On the wire
/// power_sgd, the transfer sums one factor of the matrix (plan/wire.hpp).
inline transfer make_transfer(redistribution_step const& s, shape const& extents, topology const& t,
                              coordinates const& here, sum_order sums = sum_order::around_ring) {
  box const from = local_box(extents, t, s.from, here), to = local_box(extents, t, s.to, here);
  transfer x;
  if (s.kind == collective::all_reduce)
    x = flat_all_reduce(s.wire.is_factored() ? factor_extents(from, s.wire).summed_by(s)
                                             : from.elements(),
                        s.axes, t, here, s.from.op(), sums);
  x.wire = s.wire;
  x.extents = extents;
  x.before = s.from;
  x.after = s.to;
  if (s.kind == collective::all_reduce) {
    x.set_fingerprint();
    return x;
  }
  x.kind = s.kind;
  x.axes = s.axes;
  x.sums = sums;
  x.from = from;
  x.to = to;
  x.op = s.kind == collective::zero_pad ? s.to.op() : s.from.op();
  x.set_fingerprint();
  if (!communicates(s.kind)) {
    auto const a = static_cast<std::size_t>(s.axes[0]);
    x.pads = s.kind == collective::zero_pad;
    bool const holds = !x.pads || !s.from[s.axes[0]].is_broadcast() || here[a] == 0;
    if (holds) x.receives.emplace_back(intersect(from, to), from, to);
    return x;
  }
  x.members = t.group_size(s.axes);
  x.index = t.index_in_group(here, s.axes);
  bool const pairwise = s.kind == collective::permute && is_pairwise(s, t);
  if (pairwise) x.partner = t.index_in_group(permute_partner(s, here), s.axes);
  for (int j = 0; j < x.members; ++j) {
    auto const member = t.member(here, s.axes, j);
    box const before = local_box(extents, t, s.from, member);
    x.largest_source = std::max(x.largest_source, before.elements());
    box const after = local_box(extents, t, s.to, member);
    if (s.kind == collective::reduce_scatter) {
      x.sends.emplace_back(after, from, after);
      x.receives.emplace_back(to, from, to);
    } else if (pairwise && j != x.partner) {
      x.sends.emplace_back();
      x.receives.emplace_back();
    } else if (pairwise) {
      x.sends.emplace_back(from, from, from);
      x.receives.emplace_back(to, to, to);
    } else {
      x.sends.emplace_back(intersect(from, after), from, after);
      x.receives.emplace_back(intersect(before, to), before, to);
    }
  }
  // All members write at the same time. The size from which copies bypass the caches was measured
  // with two writing members. So part_of, which is compared with that size, grows with the number
  // of members.
  for (auto& b : x.receives) b.part_of *= std::max(1, x.members / 2);
  return x;
}

}  // namespace ashlar
