// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transfers of an exchange of halos (layout/halo_layout.hpp). These transfers only move blocks,
// so every transport carries them out like a permute (transfer.hpp). Let x be the input of a layer
// with windows, such as a convolution. A rank's own box contains the elements of its shard of x.
// The rank's read box also contains the halo: the elements of other ranks that the rank's windows
// cover.
//
//   exchange   from each member j: its own box ∩ my read box. Source: the shard of x. Target: x
//              with its halo.
//   addends    from each other member j: its read box ∩ my own box. Source: the gradient of x
//              with its halo. Target: a flat array of these blocks, one after the other. The
//              receiver then adds the blocks up (tensor/halo.hpp).

#include <vector>

#include <ashlar/comm/transfer.hpp>
#include <ashlar/layout/halo_layout.hpp>

namespace ashlar {

/// The transfers of one rank in an exchange of halos, forward and backward.
struct halo_transfers {
  box own, read;
  transfer exchange, addends;
  /// For each member: the elements of this rank's own box that the member has read. The member has
  /// an addend of the gradient of each of these elements.
  std::vector<box> added;
};

namespace detail {

inline transfer halo_transfer(halo_layout const& halo, topology const& t, coordinates const& here) {
  transfer x;
  x.kind = collective::permute;
  x.axes = halo.axes;
  x.members = t.group_size(halo.axes);
  x.index = t.index_in_group(here, halo.axes);
  x.extents = halo.extents;
  x.before = x.after = halo.at;
  x.set_fingerprint();
  return x;
}

}  // namespace detail

/// Returns the transfers of the rank at coordinates `here` in an exchange of halos. Expects a
/// layout that has a halo. Takes time quadratic in the number of members of the group along
/// halo.axes. Communicates nothing.
inline halo_transfers prepared_for(halo_layout const& halo, topology const& t,
                                   coordinates const& here) {
  halo_transfers made{halo.own_box(t, here),
                      halo.read_box(t, here),
                      detail::halo_transfer(halo, t, here),
                      detail::halo_transfer(halo, t, here),
                      {}};
  auto &x = made.exchange, &back = made.addends;
  std::int64_t received = 0;
  for (int j = 0; j < x.members; ++j) {
    auto const member = t.member(here, halo.axes, j);
    box const own = halo.own_box(t, member), read = halo.read_box(t, member);
    x.largest_source = std::max(x.largest_source, own.elements());
    back.largest_source = std::max(back.largest_source, read.elements());
    x.sends.emplace_back(intersect(made.own, read), made.own, read);
    x.receives.emplace_back(intersect(own, made.read), own, made.read);
    made.added.push_back(intersect(read, made.own));
    // In the array of the receiver, this rank's block of addends lies after the blocks of the
    // members before this rank. A member sends no block to itself.
    box const sent = intersect(made.read, own);
    std::int64_t before = 0;
    for (int k = 0; k < x.index; ++k)
      if (k != j)
        before += intersect(halo.read_box(t, t.member(here, halo.axes, k)), own).elements();
    bool const is_other = j != x.index;
    back.sends.push_back(is_other ? strided_block(sent, made.read, sent) : strided_block());
    back.sends.back().target_offset = before;
    back.receives.push_back(is_other ? strided_block(made.added.back(), read, made.added.back())
                                     : strided_block());
    back.receives.back().target_offset = received;
    received += back.receives.back().elements;
  }
  x.from = made.own;
  x.to = back.from = made.read;
  back.to = detail::flat_box({0, received});
  return made;
}

}  // namespace ashlar
