// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transfer of one step that has a wire (plan/wire.hpp), for one tensor or for several that
// travel together. What travels are bytes. A section is what one rank sends to another: an encoded
// block of each tensor, one after the other.
//
//   step             source, one section                    target, one section
//   reduce_scatter   for each member: the addends that      of each member: the addends that this
//                    the member owns after the step         rank owns after the step
//   all_gather       in all: this rank's shards             of each member: its shards
//
// A reduce_scatter is carried out as an all-to-all. A rank also encodes and decodes the block that
// it keeps, so that all ranks decode the same elements.

#include <vector>

#include <ashlar/comm/counted_transfer.hpp>

namespace ashlar {

/// A step of a tensor.
struct tensor_step {
  redistribution_step const* step;
  shape const* extents;
};

struct encoded_transfer {
  /// The block of tensor number `tensor` that is encoded for a member, or decoded from one.
  struct block {
    std::size_t tensor = 0;
    std::int64_t at = 0;     ///< where its bytes begin in the source or the target
    strided_block elements;  ///< from the shard to a packed array, or back
  };
  transfer what;
  bool sums = false;  ///< whether decoded blocks are added up
  std::vector<block> encoded, decoded;
  std::int64_t largest_block = 0;  ///< elements

  std::int64_t source_bytes() const { return what.from.elements(); }
  std::int64_t target_bytes() const { return what.to.elements(); }
};

/// Returns the transfer of the rank at coordinates `here`. All steps must be the same collective on
/// the same axes with the same wire, which is not exact.
inline encoded_transfer make_encoded_transfer(std::vector<tensor_step> const& steps,
                                              topology const& t, coordinates const& here) {
  auto const& first = *steps.front().step;
  encoded_transfer made;
  auto const& wire = first.wire;
  made.sums = first.kind == collective::reduce_scatter;
  // The box of tensor s of which `member` owns the sum, or which it contributes.
  auto const own_box = [&](tensor_step const& s, coordinates const& member) {
    return local_box(*s.extents, t, made.sums ? s.step->to : s.step->from, member);
  };
  // The bytes of the section that `member` receives, or that it sends to all.
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
  x.extents = *steps.front().extents;  // messages name the first tensor
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
