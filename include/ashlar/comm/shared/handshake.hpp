// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The rules by which the ranks of one node read each other's shards. They are all here.
//
// Each rank owns one slot per group of axes, in memory that all of them see. The transfers of a
// group have epochs 1, 2, 3, … the same on all its members, and a rank begins one only when it
// has ended the one before (operation_queue.hpp keeps the order).
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
//
// Small shards are copied aside instead, so that nobody waits for readers (eager_transfer.hpp). Each
// rank has two stages per group of axes, of even and of odd epochs:
//
//   1 stage     Once arrived >= epoch - 1 (acquire) for every member, I copy my shard to the stage of
//               this epoch, then arrived := epoch (release). The shard is my own all the time.
//   2 read      The stage of a member whose arrived >= epoch (acquire). Then I have ended.
//
// Who has arrived at epoch - 1 has ended epoch - 2, and that is the last one that reads what 1 overwrites.
//
// A rank on which an exception drops a transfer says so in all its slots (abandon), and never writes or
// reuses memory that others may still read. Who waits for what such a rank has not done throws; what it
// had done before counts. Only a rank that would wait anyway looks.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ashlar/machine/collective.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::shared {

inline constexpr std::int64_t not_shared = -1;  ///< of a shard that lies outside the window

/// Of one stage. Copying so much takes less time than a change of ranks on a core.
inline constexpr std::int64_t stage_bytes = 8 * 1024;
/// Staged at most where every rank has a core: there the copy saves only a look at a neighbour's cache.
inline constexpr std::int64_t staged_by_own_core = 1024;

/// One rank's word to one group. A cache line of its own: only its owner writes it.
struct alignas(64) slot {
  std::atomic<std::uint64_t> arrived{0}, shown{0}, left{0};
  std::atomic<std::uint64_t> abandoned{0};  ///< 1 + the owner's rank on the mesh, once it has
  std::int64_t source = not_shared;         ///< offsets in the owner's window
  std::int64_t target = not_shared;
  std::atomic<std::int64_t> stages{0};  ///< bytes of a shard that the owner stages at most

  void abandon(int rank) {
    abandoned.store(static_cast<std::uint64_t>(rank) + 1, std::memory_order_release);
  }
};
static_assert(sizeof(slot) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A group's members as this rank sees them.
struct neighbourhood {
  std::vector<std::byte*> windows;  ///< where each member's window begins, in my address space
  std::vector<slot*> slots;
  std::vector<std::byte*> stages;  ///< each member's two, behind each other
  std::int64_t most_staged = 0;    ///< bytes of a shard, all members' least; 0: without stages
};

/// One transfer's use of a group's slots by one member. What asks for others throws ashlar::error when
/// one of them has abandoned the mesh before.
class handshake {
 public:
  handshake(std::span<slot* const> slots, int index, std::uint64_t epoch, collective what)
      : slots_(slots), mine_(slots[static_cast<std::size_t>(index)]), epoch_(epoch), what_(what) {}

  void publish(std::int64_t source, std::int64_t target) const {
    mine_->source = source;
    mine_->target = target;
    mine_->arrived.store(epoch_, std::memory_order_release);
  }
  /// The same where the shard is in my stage.
  void publish() const { mine_->arrived.store(epoch_, std::memory_order_release); }
  void show() const { mine_->shown.store(epoch_, std::memory_order_release); }
  void leave() const { mine_->left.store(epoch_, std::memory_order_release); }

  bool all_arrived() const { return all(&slot::arrived); }
  bool arrived(int member) const { return took(member, &slot::arrived, epoch_); }
  /// Whether every member has arrived at the epoch before: my stage of this one is free.
  bool all_arrived_before() const {
    for (std::size_t j = 0; j < slots_.size(); ++j)
      if (!took(static_cast<int>(j), &slot::arrived, epoch_ - 1)) return false;
    return true;
  }
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
  using word = std::atomic<std::uint64_t>;

  bool all(word slot::*step) const {
    for (std::size_t j = 0; j < slots_.size(); ++j)
      if (!took(static_cast<int>(j), step, epoch_)) return false;
    return true;
  }
  bool took(int member, word slot::*step, std::uint64_t epoch) const {
    slot const& s = *slots_[static_cast<std::size_t>(member)];
    if ((s.*step).load(std::memory_order_acquire) >= epoch) return true;
    refuse_if_never(s, s.*step, epoch);
    return false;
  }

  /// Throws if the owner of `s` will never take the step that it has not taken. It lies in the line just
  /// read.
  void refuse_if_never(slot const& s, word const& step, std::uint64_t epoch) const {
    auto const by = s.abandoned.load(std::memory_order_acquire);
    if (by == 0 || step.load(std::memory_order_acquire) >= epoch) return;  // taken just before
    throw error(to_string(what_), "an exception ended the mesh on rank " + std::to_string(by - 1) +
                                      ", which others wait for. Go on with a new mesh.");
  }

  std::span<slot* const> slots_;
  slot* mine_;
  std::uint64_t epoch_;
  collective what_;
};

}  // namespace ashlar::shared
