// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ranks with which a rank shares memory in a crossing. They copy elements out of each other's
// shards, without buffers and without messages that carry data:
//
//   giver                                            taker
//   says where its shard is (an offer)          ->
//   for each message of the crossing, says
//   that its elements are there (0 bytes)       ->   copies them to its own shard
//                                               <-   says that it has copied all of them (0 bytes)
//
// If only a few bytes go from one rank to another, messages carry the elements, because this is
// faster. Messages also carry the elements of a giver whose shard is not in shared memory. The
// giver's offer says so.

#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/mpi/shared_window.hpp>
#include <ashlar/layout/range_of_region.hpp>
#include <ashlar/plan/crossing/crossing.hpp>
#include <ashlar/support/keep_forever.hpp>
#include <ashlar/support/recycled.hpp>

namespace ashlar::mpi {

/// How the elements of a message of a crossing travel. A taker does not know this until the giver's
/// offer arrives.
enum class crossing_carrier { unknown, messages, shared_memory };

class crossing_neighbours {
 public:
  /// Two ranks use shared memory only if one gives the other at least this many bytes.
  static constexpr std::int64_t least_bytes = 16 * 1024;

  /// Begins to send and to receive offers. `sends` and `receives` are this rank's messages. `shard`
  /// has the elements of box `tile`. Offers have the tag `tag`, like the messages of the crossing.
  /// The last message of a taker has the tag `taken_tag`, which no other message of the crossing
  /// has.
  crossing_neighbours(std::vector<crossing_transfer> const& sends,
                      std::vector<crossing_transfer> const& receives, box const& tile, void* shard,
                      std::size_t element_size, shared_window const& window, MPI_Comm comm, int tag,
                      int taken_tag)
      : window_(&window), tile_(tile), shard_(static_cast<std::byte*>(shard)), size_(element_size),
        comm_(comm), taken_tag_(taken_tag) {
    for (auto const& t : sends) count(t.to, false, t.size);
    for (auto const& t : receives) count(t.from, true, t.size);
    std::erase_if(peers_, [this](peer const& p) {
      return p.elements * static_cast<std::int64_t>(size_) < least_bytes;
    });
    offer const own{offset_of_shard(), tile_};
    // From here on, the list of peers must stay where it is in memory, since MPI writes into it.
    for (auto& p : peers_)
      if (p.gives) check(MPI_Irecv(&p.shard, sizeof(offer), MPI_BYTE, p.rank, tag, comm_, &p.told));
      else begin_to_give(p, own, tag);
  }
  crossing_neighbours(crossing_neighbours const&) = delete;
  crossing_neighbours& operator=(crossing_neighbours const&) = delete;
  ~crossing_neighbours() {
    // If the crossing has not ended, an exception destroys this object. MPI may still write to
    // peers_, so its memory is never freed.
    if (!has_ended_ && !peers_.empty()) keep_forever(std::move(peers_));
  }

  /// from() returns how elements travel from `rank` to this rank. to() returns how elements travel
  /// from this rank to `rank`.
  crossing_carrier from(int rank) { return carrier_of(rank, true); }
  crossing_carrier to(int rank) { return carrier_of(rank, false); }

  /// Copies the elements of message `t` from the shard of the rank that gives them. `region` is the
  /// box of the tensor to which the message belongs.
  void take(crossing_transfer const& t, box const& region) {
    auto& giver = *find(t.from, true);
    std::byte const* const theirs = window_->region_of(t.from) + giver.shard.offset;
    std::atomic_thread_fence(std::memory_order_acquire);
    std::int64_t begin = t.begin;
    for_each_run(tile_, region, t.begin, t.size, [&](std::int64_t to, std::int64_t n) {
      for_each_run(giver.shard.tile, region, begin, n, [&](std::int64_t at, std::int64_t count) {
        std::memcpy(shard_ + static_cast<std::size_t>(to) * size_,
                    theirs + static_cast<std::size_t>(at) * size_,
                    static_cast<std::size_t>(count) * size_);
        to += count;
      });
      begin += n;
    });
    giver.elements -= t.size;
    if (giver.elements == 0)
      check(MPI_Isend(nullptr, 0, MPI_BYTE, t.from, taken_tag_, comm_, &giver.told));
  }

  /// Returns whether all takers have copied what they need, and all givers have been told that this
  /// rank has copied what it needs.
  bool have_ended() {
    for (auto& p : peers_)
      if (!is_done(p.told) || !is_done(p.taken) ||
          (p.gives && p.shard.offset != shared::not_shared && p.elements > 0))
        return false;
    return has_ended_ = true;
  }

 private:
  struct offer {
    std::int64_t offset = shared::not_shared;  ///< where the shard is in its owner's shared memory
    box tile;
  };
  static_assert(std::is_trivially_copyable_v<offer>);

  struct peer {
    int rank = 0;
    bool gives = false;         ///< true if it gives elements to this rank, false if it takes some
    std::int64_t elements = 0;  ///< number of elements of a giver that are not copied yet
    offer shard;                ///< where the shard of the giver is
    /// The request of the offer. If the peer gives elements, this is later the request of the
    /// message that tells the peer that this rank has copied everything.
    MPI_Request told = MPI_REQUEST_NULL;
    MPI_Request taken = MPI_REQUEST_NULL;  ///< receives the last message of a taker
  };

  void count(int rank, bool gives, std::int64_t elements) {
    if (window_->region_of(rank) == nullptr) return;
    auto* const known = find(rank, gives);
    if (known == nullptr) peers_.push_back({rank, gives, elements, {}});
    else known->elements += elements;
  }
  peer* find(int rank, bool gives) {
    for (auto& p : peers_)
      if (p.rank == rank && p.gives == gives) return &p;
    return nullptr;
  }
  std::int64_t offset_of_shard() const {
    if (window_->region() == nullptr) return shared::not_shared;
    auto const offset = shard_ - window_->region();
    return offset >= 0 && offset < static_cast<std::ptrdiff_t>(window_->region_bytes())
               ? offset
               : shared::not_shared;
  }
  void begin_to_give(peer& p, offer const& own, int tag) {
    p.shard = own;
    if (own.offset != shared::not_shared)
      check(MPI_Irecv(nullptr, 0, MPI_BYTE, p.rank, taken_tag_, comm_, &p.taken));
    std::atomic_thread_fence(std::memory_order_release);
    check(MPI_Isend(&p.shard, sizeof(offer), MPI_BYTE, p.rank, tag, comm_, &p.told));
  }
  crossing_carrier carrier_of(int rank, bool gives) {
    auto* const p = find(rank, gives);
    if (p == nullptr) return crossing_carrier::messages;
    if (gives && !is_done(p->told)) return crossing_carrier::unknown;
    return p->shard.offset == shared::not_shared ? crossing_carrier::messages
                                                 : crossing_carrier::shared_memory;
  }
  static bool is_done(MPI_Request& r) {
    int done = 1;
    if (r != MPI_REQUEST_NULL) check(MPI_Test(&r, &done, MPI_STATUS_IGNORE));
    return done != 0;
  }

  shared_window const* window_;
  box tile_;
  std::byte* shard_;
  std::size_t size_;
  MPI_Comm comm_;
  int taken_tag_;
  recycled_vector<peer> peers_;
  bool has_ended_ = false;
};

}  // namespace ashlar::mpi
