// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Transfers between ranks that have different numbers of elements. All ranks of the group know how
// many elements each rank sends to each other rank, so messages need no sizes. The arrays are flat:
// a source has one part for each member, and a target has one part from each member, in the order
// of the members.

#include <algorithm>

#include <ashlar/comm/transfer.hpp>

namespace ashlar {

/// Returns the block that member `from` sends to member `to`. size(i, j) is the number of elements
/// that member i sends to member j. In an all-gather, the source is one part, which all members
/// get. In a reduction, the target is one part: the sum of the parts that the members send.
template <class Size>
strided_block counted_block(collective kind, int from, int to, Size const& size) {
  std::int64_t const n = size(from, to);
  auto b = detail::flat_block({0, n}, n);
  for (int i = 0; i < to && kind != collective::all_gather; ++i) b.source_offset += size(from, i);
  for (int j = 0; j < from && !reduces(kind); ++j) b.target_offset += size(j, to);
  return b;
}

/// Returns an all-gather or all-to-all along `axes` for the rank at coordinates `here`. size(i, j)
/// is the number of elements that member i sends to member j. It must return the same numbers on
/// all members. In an all-gather, it must not depend on j.
template <class Size>
transfer counted_transfer(collective kind, axis_list const& axes, topology const& t,
                          coordinates const& here, Size const& size) {
  transfer x;
  x.kind = kind;
  x.axes = axes;
  x.members = t.group_size(axes);
  x.index = t.index_in_group(here, axes);
  bool const gathers = kind == collective::all_gather;
  std::int64_t all = 0, source = 0, target = 0;
  for (int j = 0; j < x.members; ++j) {
    x.sends.push_back(counted_block(kind, x.index, j, size));
    x.receives.push_back(counted_block(kind, j, x.index, size));
    std::int64_t given = 0;
    for (int to = 0; to < (gathers ? 1 : x.members); ++to) given += size(j, to);
    all += given;
    x.largest_source = std::max(x.largest_source, given);
    if (j == x.index) source = given;
    target += x.receives.back().elements;
  }
  x.from = detail::flat_box({0, source});
  x.to = detail::flat_box({0, target});
  x.extents = {all};
  x.before = x.after = placement::all_broadcast(t.axes());
  x.set_fingerprint();
  return x;
}

}  // namespace ashlar
