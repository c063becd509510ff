// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transfer of one step of a redistribution of a routed tensor (layout/routing.hpp). A routed
// tensor has the same steps as a dense tensor with the same extents. Only the numbers of elements
// differ: they depend on the routes, which every rank knows. A rank's box before or after the step
// is the box of the rank's shard of such a dense tensor. The arrays that travel are flat:
//
//   source   for each member, the rows of (my box before ∩ its box after), one member after the
//            other; in an all-gather and an all-reduce, all of my shard
//   target   from each member, the rows of (its box before ∩ my box after), one member after the
//            other; in a reduce-scatter and an all-reduce, the sums of the rows of my box after
//
// The rows of one such part are in the order in which shards store them. Making a transfer takes
// time proportional to the number of tokens times the number of members.

#include <ashlar/comm/counted_transfer.hpp>
#include <ashlar/layout/routing.hpp>

namespace ashlar {

struct routed_transfer {
  transfer what;
  std::vector<box> gives;  ///< for each member: the rows that this rank sends to it
  std::vector<box> takes;  ///< for each member: the rows that this rank receives from it
  std::int64_t source_elements = 0, target_elements = 0;
};

/// Returns the number of elements of a routed tensor that are in a box.
inline std::int64_t elements_in(routing const& routes, shape const& extents, box const& b) {
  return count_rows(routes, extents, b) * b[b.rank() - 1].size;
}

/// Returns the transfer of the rank at coordinates `here` for step `s` of a routed tensor. Expects
/// a step that communicates.
inline routed_transfer make_routed_transfer(redistribution_step const& s, shape const& extents,
                                            routing const& routes, topology const& t,
                                            coordinates const& here,
                                            sum_order sums = sum_order::around_ring) {
  auto const elements = [&](box const& b) { return elements_in(routes, extents, b); };
  auto const box_of = [&](placement const& p, coordinates const& c) {
    return local_box(extents, t, p, c);
  };
  routed_transfer made;
  transfer& x = made.what;
  if (s.kind == collective::all_reduce) {
    auto const n = elements(box_of(s.from, here));
    x = flat_all_reduce(n, s.axes, t, here, s.from.op(), sums);
    made.source_elements = made.target_elements = n;
  }
  x.kind = s.kind;
  x.axes = s.axes;
  x.op = s.from.op();
  x.sums = sums;
  x.extents = extents;
  x.before = s.from;
  x.after = s.to;
  x.members = t.group_size(s.axes);
  x.index = t.index_in_group(here, s.axes);
  x.set_fingerprint();
  if (s.kind == collective::all_reduce) return made;

  bool const pairwise = s.kind == collective::permute && is_pairwise(s, t);
  if (pairwise) x.partner = t.index_in_group(permute_partner(s, here), s.axes);
  std::vector<coordinates> member;
  for (int j = 0; j < x.members; ++j) member.push_back(t.member(here, s.axes, j));
  /// Returns what member `from` sends to member `to`.
  auto const part = [&](int from, int to) {
    auto const &giver = member[static_cast<std::size_t>(from)],
               &taker = member[static_cast<std::size_t>(to)];
    if (pairwise && !(permute_partner(s, giver) == taker)) return empty_box(extents.rank());
    return intersect(box_of(s.from, giver), box_of(s.to, taker));
  };
  int const me = x.index;
  bool const gathers = s.kind == collective::all_gather;
  bool const reduces = s.kind == collective::reduce_scatter;
  std::vector<std::int64_t> given, taken;  // elements, by member
  for (int j = 0; j < x.members; ++j) {
    made.gives.push_back(part(me, j));
    made.takes.push_back(part(j, me));
    given.push_back(elements(made.gives.back()));
    taken.push_back(elements(made.takes.back()));
  }
  // In a reduce-scatter, all members send equally many elements to `to`. In an all-gather, `from`
  // sends equally many to all members.
  auto const size = [&](int from, int to) {
    if (from == me || reduces) return given[static_cast<std::size_t>(to)];
    if (to == me || gathers) return taken[static_cast<std::size_t>(from)];
    return elements(part(from, to));
  };
  for (int j = 0; j < x.members; ++j) {
    x.sends.push_back(counted_block(s.kind, me, j, size));
    x.receives.push_back(counted_block(s.kind, j, me, size));
    std::int64_t const own = elements(box_of(s.from, member[static_cast<std::size_t>(j)]));
    x.largest_source = std::max(x.largest_source, own);
    if (!gathers) made.source_elements += x.sends.back().elements;
    if (!reduces) made.target_elements += x.receives.back().elements;
  }
  if (gathers) made.source_elements = x.sends[static_cast<std::size_t>(me)].elements;
  if (reduces) made.target_elements = x.receives[static_cast<std::size_t>(me)].elements;
  x.from = detail::flat_box({0, made.source_elements});
  x.to = detail::flat_box({0, made.target_elements});
  return made;
}

}  // namespace ashlar
