// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer within one node. Each rank copies or reduces the data that it needs directly from the
// shards of the other ranks into its own shard. No separate packing and unpacking is needed. The
// synchronization follows the rules of handshake.hpp:
//
//   publish · wait until all have arrived · copy or reduce · leave · wait until all have left
//
// An all-reduce that has more than `small_all_reduce` bytes, or is in-place on any member, has more
// steps instead of "copy or reduce":
//
//   reduce my part · show it · wait until all have shown theirs · copy the others' parts
//
// advance() never waits: it does all work that is possible now and returns whether the transfer has
// ended.

#include <ashlar/comm/shared/handshake.hpp>
#include <ashlar/comm/shared/neighbours.hpp>

namespace ashlar::shared {

/// Up to this many bytes, every rank computes the complete result of an all-reduce by itself,
/// unless the all-reduce is in-place. Reading all addends then takes less time than waiting once
/// more for all members.
inline constexpr std::int64_t small_all_reduce = 32 * 1024;

class direct_transfer {
 public:
  enum class state { waiting_for_all, waiting_for_parts, waiting_to_end, done, not_all_shared };

  /// Publishes the shards. The offsets are the positions of source and target in this rank's shared
  /// window, in bytes, or not_shared.
  direct_transfer(transfer const& what, element_type type, neighbourhood const& group,
                  std::uint64_t epoch, void* target, std::int64_t source_offset,
                  std::int64_t target_offset)
      : what_(&what), group_(&group), sync_(group, epoch, what, type), target_(target, type) {
    sync_.publish(source_offset, target_offset);
  }

  /// Does all work that is possible now. Returns true when the transfer has ended, or when it must
  /// be carried out with messages (must_be_messages). Throws ashlar::error if this rank waits for a
  /// member that has abandoned the mesh or makes another transfer.
  bool advance() {
    if (state_ == state::waiting_for_all && sync_.all_arrived()) {
      if (!sync_.all_shared()) {
        state_ = state::not_all_shared;  // all members get this result
        sync_.leave();                   // slots must not be written before all have left
      } else {
        first_half();
      }
    }
    if (state_ == state::waiting_for_parts && sync_.all_shown()) {
      copy_parts();
      leave();
    }
    if (state_ == state::waiting_to_end && sync_.all_left()) state_ = state::done;
    return state_ == state::done || (state_ == state::not_all_shared && sync_.all_left());
  }
  bool must_be_messages() const { return state_ == state::not_all_shared; }

 private:
  void leave() {
    sync_.leave();
    state_ = state::waiting_to_end;
  }

  element_pointer shard(int member, std::int64_t offset) const {
    return {group_->windows[static_cast<std::size_t>(member)] + offset, target_.type()};
  }
  element_pointer source_of(int member) const { return shard(member, sync_.source_of(member)); }

  void first_half() {
    auto& x = *what_;
    if (x.kind == collective::all_reduce) {
      // If the transfer is in-place, a rank must not write the complete result at once: it would
      // overwrite addends that others still read.
      if (x.from.elements() * target_.size() > small_all_reduce || sync_.any_in_place()) {
        reduce_part(
            x, x.index, [&](int j) { return source_of(j); }, target_);
        sync_.show();
        state_ = state::waiting_for_parts;
        return;
      }
    }
    take_all(
        x, [&](int j) { return source_of(j); }, target_);
    leave();
  }

  void copy_parts() {
    auto const& x = *what_;
    for (int i = 1; i < x.members; ++i) {
      int const j = (x.index + i) % x.members;
      copy(x.receives[static_cast<std::size_t>(j)], shard(j, sync_.target_of(j)), target_);
    }
  }

  transfer const* what_;
  neighbourhood const* group_;
  handshake sync_;
  element_pointer target_;
  state state_ = state::waiting_for_all;
};

}  // namespace ashlar::shared
