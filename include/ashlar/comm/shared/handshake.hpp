// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The protocol by which the ranks of one node read each other's shards in shared memory. This file
// contains all its rules.
//
// Each rank owns one slot per group of axes in shared memory. From this slot, the other members
// read how far the rank is. The transfers of a group are numbered by epochs 1, 2, 3, …, which are
// the same on all members. A rank begins a transfer only after it has ended the previous one of the
// group (operation_queue.hpp). Each `:=` below is a release store, and each wait for `>=` is an
// acquire load.
//
//   1 publish   A rank writes the locations of its source and target shard and the fingerprint of
//               its transfer into its slot, then sets arrived := epoch. From now on until rule 5 it
//               does not write to its source (in-place transfers: see below).
//   2 read      A rank reads a member's source only once that member's arrived >= epoch.
//   3 show      Only in an all-reduce: when a rank has reduced its part of the result into its
//               target, it sets shown := epoch. Others copy this part once shown >= epoch. Until
//               rule 5 the rank does not write to this part again.
//   4 leave     After its last read of other ranks' memory, a rank sets left := epoch.
//   5 end       Once left >= epoch for every member, a rank may write or free its shards, and may
//               write its slot for the next epoch.
//
// In an in-place all-reduce, the source is the target. A rank then writes to its source, but only
// where no other rank still reads addends. Before rule 3 it writes its own part, of which only this
// rank reads addends. It writes the other parts once shown >= epoch for every member.
//
// Because of rules 1 to 3, no rank reads a shard before it is written. Because of rules 4 and 5, no
// rank overwrites a shard that is still being read. Epochs only grow.
//
// Small shards are instead copied to shared buffers ("stages"), so that their owner does not wait
// for readers (eager_transfer.hpp). Each rank has two stages per group of axes, one for even and
// one for odd epochs:
//
//   1 stage     Once arrived >= epoch - 1 for every member, a rank copies its shard to the stage of
//               this epoch, then sets arrived := epoch. Others never access the shard itself.
//   2 read      A rank reads a member's stage once that member's arrived >= epoch. After its last
//               read, the transfer has ended for this rank.
//
// A stage is not overwritten too early, for this reason: the stage was last used in epoch - 2. A
// member that has arrived at epoch - 1 has ended its transfer of epoch - 2. So it no longer reads
// the stage.
//
// A rank compares the fingerprint of each member that it waits for with its own, and throws if they
// differ: then the ranks make different calls. A member may be two epochs ahead: it has ended a
// staged transfer for which it needed nothing of this rank, and has published its shards for the
// next transfer. So each slot keeps the fingerprints of four epochs.
//
// If an exception drops a transfer on a rank, the rank marks all its slots as abandoned. That rank
// never again writes or reuses memory that others may still read. Another rank that would have to
// wait for a later step of that rank throws instead. Steps taken before the exception remain valid.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::shared {

/// The offset of a shard that is outside its owner's shared window.
inline constexpr std::int64_t not_shared = -1;

/// The size in bytes of a stage. Copying this many bytes takes less time than a context switch
/// between ranks on one core.
inline constexpr std::int64_t stage_bytes = 8 * 1024;
/// The size in bytes of the largest shard that is copied to a stage if every rank has a core of its
/// own. In that case, a stage saves only one access to another core's cache.
inline constexpr std::int64_t staged_by_own_core = 1024;

/// The state of one rank in one group, which the other members read. A slot fills one cache line,
/// and only its owner writes it.
struct alignas(64) slot {
  std::atomic<std::uint64_t> arrived{0}, shown{0}, left{0};
  std::atomic<std::uint64_t> abandoned{0};  ///< 0 until abandon(), then 1 + the owner's rank
  std::int64_t source = not_shared;         ///< offsets of the shards in the owner's window
  std::int64_t target = not_shared;
  /// The size in bytes of the largest shard that the owner copies to its stages, or 0 if the owner
  /// has no stages.
  std::atomic<std::int64_t> stages{0};
  std::atomic<std::uint16_t> what[4]{};  ///< fingerprints of the last four epochs' transfers

  void abandon(int rank) {
    abandoned.store(static_cast<std::uint64_t>(rank) + 1, std::memory_order_release);
  }
};
static_assert(sizeof(slot) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The memory of the members of a group, as addresses in this process.
struct neighbourhood {
  /// The start of each member's window in shared memory, as an address in this process.
  std::vector<std::byte*> windows;
  std::vector<slot*> states;
  std::vector<std::byte*> stages;  ///< each member's pair of adjacent stages
  std::vector<int> ranks;          ///< each member's rank on the mesh, for error messages
  /// A transfer goes through the stages if no member's shard has more bytes than this. 0 if a
  /// member has no stages.
  std::int64_t most_staged = 0;
};

/// One rank's part in the protocol for one transfer. A function that queries whether a member has
/// taken a step throws ashlar::error if the member has abandoned the mesh before that step.
class handshake {
 public:
  handshake(neighbourhood const& group, std::uint64_t epoch, transfer const& what,
            element_type type)
      : slots_(group.states), ranks_(group.ranks),
        mine_(slots_[static_cast<std::size_t>(what.index)]), epoch_(epoch),
        fingerprint_(
            static_cast<std::uint16_t>(what.fingerprint + static_cast<std::uint32_t>(type))),
        what_(what.kind) {}

  void publish(std::int64_t source, std::int64_t target) const {
    mine_->source = source;
    mine_->target = target;
    publish();
  }
  /// Announces that this rank has arrived at this epoch. In an eager transfer, the shard must be in
  /// its stage before this call.
  void publish() const {
    mine_->what[epoch_ % 4].store(fingerprint_, std::memory_order_relaxed);
    mine_->arrived.store(epoch_, std::memory_order_release);
  }
  void show() const { mine_->shown.store(epoch_, std::memory_order_release); }
  void leave() const { mine_->left.store(epoch_, std::memory_order_release); }

  bool all_arrived() const {
    for (std::size_t j = 0; j < slots_.size(); ++j)
      if (!arrived(static_cast<int>(j))) return false;
    return true;
  }
  /// Throws ashlar::error if the member has arrived with another transfer.
  bool arrived(int member) const {
    if (!took(member, &slot::arrived, epoch_)) return false;
    auto const& s = *slots_[static_cast<std::size_t>(member)];
    if (s.what[epoch_ % 4].load(std::memory_order_relaxed) != fingerprint_) refuse_other(member);
    return true;
  }
  /// Returns whether every member has arrived at the previous epoch. If so, this rank may overwrite
  /// its stage of this epoch.
  bool all_arrived_before() const {
    for (std::size_t j = 0; j < slots_.size(); ++j)
      if (!took(static_cast<int>(j), &slot::arrived, epoch_ - 1)) return false;
    return true;
  }
  bool all_shown() const { return all(&slot::shown); }
  bool all_left() const { return all(&slot::left); }

  /// Returns whether the source and target of every member are in shared windows. Requires
  /// all_arrived(). All members get the same result.
  bool all_shared() const {
    for (auto const* s : slots_)
      if (s->source == not_shared || s->target == not_shared) return false;
    return true;
  }
  /// Returns whether the transfer is in-place on any member. Requires all_arrived(). All members
  /// get the same result.
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

  [[noreturn]] void refuse_other(int member) const {
    throw error(to_string(what_),
                "rank " + std::to_string(ranks_[static_cast<std::size_t>(member)]) +
                    " makes another transfer at this point. All ranks must make "
                    "the same calls in the same order. ASHLAR_CHECK=on shows what "
                    "each rank does.");
  }

  /// Throws if the owner of `s` has abandoned the mesh before it took the step `step` of this
  /// epoch. This check is cheap, because the mark is in the cache line that was just read.
  void refuse_if_never(slot const& s, word const& step, std::uint64_t epoch) const {
    auto const by = s.abandoned.load(std::memory_order_acquire);
    // The owner may have taken the step just before it abandoned the mesh. So this function loads
    // `step` once more.
    if (by == 0 || step.load(std::memory_order_acquire) >= epoch) return;
    throw error(to_string(what_), "an exception on rank " + std::to_string(by - 1) +
                                      " ended this mesh, and other ranks wait for that rank. "
                                      "Create a new mesh.");
  }

  std::span<slot* const> slots_;
  std::span<int const> ranks_;
  slot* mine_;
  std::uint64_t epoch_;
  std::uint16_t fingerprint_;
  collective what_;
};

}  // namespace ashlar::shared
