// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The rules by which the ranks of one node read each other's shards. They are all here.
//
// Each rank owns one slot per group of axes, in memory that all of them see. The transfers of a
// group have epochs 1, 2, 3, … the same on all its members, and a rank begins one only when it
// has ended the one before (progress.hpp keeps the order).
//
//   1 publish   I write where my shards are into my slot, then arrived := epoch (release).
//               From here on until 5 I do not write to my source, nor to what rule 3 shows.
//   2 read      Only from a member whose arrived >= epoch (acquire).
//   3 show      Between the halves of an all-reduce: my part of my target is complete, then
//               shown := epoch (release). Others read it once shown >= epoch (acquire).
//   4 leave     After my last read of anybody's memory: left := epoch (release).
//   5 end       When left >= epoch (acquire) for every member, my shards are my own again: they may
//               be written, freed, and my slot may be written for the next epoch.
//
// So nobody reads a shard before it is written (1, 2, 3), and nobody overwrites one that is still
// read (4, 5). Epochs only grow: a member may be one epoch ahead in `arrived`, never two.

#include <atomic>
#include <cstdint>
#include <span>

namespace ashlar::shared {

inline constexpr std::int64_t not_shared = -1;  ///< of a shard that lies outside the window

/// One rank's word to one group. A cache line of its own: only its owner writes it.
struct alignas(64) slot {
  std::atomic<std::uint64_t> arrived{0}, shown{0}, left{0};
  std::int64_t source = not_shared;  ///< offsets in the owner's window
  std::int64_t target = not_shared;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// One transfer's use of a group's slots by one member.
class handshake {
 public:
  handshake(std::span<slot* const> slots, int index, std::uint64_t epoch)
      : slots_(slots), mine_(slots[static_cast<std::size_t>(index)]), epoch_(epoch) {}

  void publish(std::int64_t source, std::int64_t target) const {
    mine_->source = source;
    mine_->target = target;
    mine_->arrived.store(epoch_, std::memory_order_release);
  }
  void show() const { mine_->shown.store(epoch_, std::memory_order_release); }
  void leave() const { mine_->left.store(epoch_, std::memory_order_release); }

  bool all_arrived() const { return all(&slot::arrived); }
  bool all_shown() const { return all(&slot::shown); }
  bool all_left() const { return all(&slot::left); }

  /// Whether every member's shards lie in its window. Expects all_arrived(); all members agree.
  bool all_shared() const {
    for (auto const* s : slots_)
      if (s->source == not_shared || s->target == not_shared) return false;
    return true;
  }
  /// Whether a member's target is its source. Expects all_arrived(); all members agree.
  bool any_in_place() const {
    for (auto const* s : slots_)
      if (s->source == s->target) return true;
    return false;
  }
  std::int64_t source_of(int member) const {
    return slots_[static_cast<std::size_t>(member)]->source;
  }
  std::int64_t target_of(int member) const {
    return slots_[static_cast<std::size_t>(member)]->target;
  }

 private:
  bool all(std::atomic<std::uint64_t> slot::*step) const {
    for (auto const* s : slots_)
      if ((s->*step).load(std::memory_order_acquire) < epoch_) return false;
    return true;
  }

  std::span<slot* const> slots_;
  slot* mine_;
  std::uint64_t epoch_;
};

}  // namespace ashlar::shared
