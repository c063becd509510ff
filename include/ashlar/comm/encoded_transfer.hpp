// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transfer of one redistribution step whose wire encodes blocks (plan/wire.hpp), for one tensor
// or for several tensors that travel together. The elements of the transfer are bytes. A section is
// the data that one rank sends to another: one encoded block of each tensor, one after the other.
//
//   step             source                                 target
//   reduce_scatter   a section for each member: addends of  a section from each member: its addends
//                    the member's shards after the step     of this rank's shards after the step
//   all_gather       one section: this rank's shards        a section from each member: its shards
//
// A reduce_scatter is carried out as an all-to-all. A rank also encodes and decodes its own block,
// so that all ranks decode the same elements.

#include <vector>

#include <ashlar/comm/counted_transfer.hpp>

namespace ashlar {

/// One redistribution step of one tensor.
struct tensor_step {
  redistribution_step const* step;
  shape const* extents;
};

struct encoded_transfer {
  /// The block of tensor number `tensor` that is encoded for a member, or decoded from a member's
  /// section.
  struct block {
    std::size_t tensor = 0;
    std::int64_t at = 0;     ///< where its bytes begin in the source or the target
    strided_block elements;  ///< from the shard to a packed array, or back
  };
  transfer what;
  bool sums = false;  ///< whether decoded blocks are added up
  std::vector<block> encoded, decoded;
  std::int64_t largest_block = 0;  ///< in elements

  std::int64_t source_bytes() const { return what.from.elements(); }
  std::int64_t target_bytes() const { return what.to.elements(); }
};

/// Returns the transfer of the rank at coordinates `here`. All steps must be the same collective
/// along the same axes with the same wire. The wire must not be exact.
inline encoded_transfer make_encoded_transfer(std::vector<tensor_step> const& steps,
                                              topology const& t, coordinates const& here) {
  auto const& first = *steps.front().step;
  encoded_transfer made;
  auto const& wire = first.wire;
  made.sums = first.kind == collective::reduce_scatter;
  // The box of the tensor of `s` that `member` has after a reduce-scatter, or before an all-gather.
  auto const own_box = [&](tensor_step const& s, coordinates const& member) {
    return local_box(*s.extents, t, made.sums ? s.step->to : s.step->from, member);
  };
  // The bytes of a section that `member` receives in a reduce-scatter, or sends in an all-gather.
  auto const section = [&](coordinates const& member) {
    std::int64_t bytes = 0;
    for (auto const& s : steps) bytes += wire.bytes(own_box(s, member).elements());
    return bytes;
  };
  std::vector<std::int64_t> sections;
  std::int64_t total = 0;
  for (int j = 0; j < t.group_size(first.axes); ++j) {
    sections.push_back(section(t.member(here, first.axes, j)));
    total += sections.back();
  }
  transfer& x = made.what;
  x = counted_transfer(first.carried_by(), first.axes, t, here, [&](int i, int j) {
    return sections[static_cast<std::size_t>(made.sums ? j : i)];
  });
  x.extents = *steps.front().extents;  // error messages name the first tensor
  x.before = first.from;
  x.after = first.to;
  for (int j = 0; j < x.members; ++j) {
    auto const member = t.member(here, x.axes, j);
    auto const at = static_cast<std::size_t>(j);
    std::int64_t sent = x.sends[at].source_offset, taken = x.receives[at].target_offset;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto const& s = steps[i];
      box const theirs = own_box(s, member), mine = own_box(s, here);
      box const before = local_box(*s.extents, t, s.step->from, here);
      box const after = local_box(*s.extents, t, s.step->to, here);
      made.largest_block = std::max({made.largest_block, theirs.elements(), mine.elements()});
      if (made.sums || j == 0) {
        box const& given = made.sums ? theirs : mine;
        made.encoded.push_back({i, sent, {given, before, given}});
        sent += wire.bytes(given.elements());
      }
      box const& got = made.sums ? mine : theirs;
      made.decoded.push_back({i, taken, {got, got, after}});
      taken += wire.bytes(got.elements());
    }
  }
  x.wire = wire;
  x.encoded_bytes = total;  // the same on all members
  x.set_fingerprint();
  return made;
}

}  // namespace ashlar
