// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The pairwise exchange sends a block from each member to each other member, with MPI_Isend and
// MPI_Irecv. It works in rounds of at most `chunk` elements of every block, with two rounds in
// flight at a time. While one round travels, the previous round is unpacked or reduced, and the
// next round is packed. A chunk is so small that it stays in the cache while it is packed or
// reduced.
//
//   blocks that are contiguous in      sent and received without copies: at once in the first
//   source and target                  round, or in chunks if they have more than INT_MAX elements
//   other blocks                       packed and unpacked chunk by chunk
//   reductions                         the chunks from all members are reduced in one pass, in the
//                                      order of comm/sum_order.hpp: the chunks of this rank's
//                                      part, or of all parts if members exchange whole arrays
//                                      (arrays_cross)
//
// The pairwise exchange carries out the all-gather, the all-to-all, the permute and the pairwise
// reduce-scatter. An all-reduce consists of one or two exchanges (message_transfer.hpp). advance()
// never waits. Blocks of different sizes are never padded. All buffers of an exchange are in one
// block of the arena.

#include <algorithm>
#include <climits>
#include <memory>
#include <span>

#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/element_pointer.hpp>
#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/plan/packing.hpp>

namespace ashlar::mpi {

/// For blocks that are packed or reduced: the largest number of bytes of one block that are sent in
/// one round. With many members the chunks are smaller, so that all buffers together have at most
/// 32 MiB in groups of up to 256 members.
inline constexpr std::int64_t pairwise_chunk_bytes = packing_chunk_bytes;
constexpr std::int64_t pairwise_chunk_of(int members) {
  return std::clamp<std::int64_t>((8 << 20) / members, 32 * 1024, pairwise_chunk_bytes);
}

/// The description of a pairwise exchange. Block sends[j] of `source` goes to member j. If there is
/// only one block in `sends`, it goes to all members. The block from member j is written to
/// receives[j] of `target`. If `reduces`, all arriving blocks are instead reduced into receives[0].
/// In every block, only the elements from number `first` on are exchanged.
struct pairwise_task {
  std::span<strided_block const> sends;
  std::span<strided_block const> receives;
  int members = 1;
  /// This rank's own block, which is copied from source to target; null if the block is already in
  /// the target.
  strided_block const* own = nullptr;
  int index = 0;
  bool reduces = false;
  reduction op = reduction::sum;
  sum_order sums = sum_order::around_ring;
  std::int64_t first = 0;
  /// If a reduction exchanges whole arrays (arrays_cross), the parts of the array, one per member.
  /// Every rank then reduces all parts. Otherwise empty.
  std::span<strided_block const> parts{};
};

/// Carries out a pairwise exchange. If it is destroyed before its end, it retires the arena
/// (arena::retire).
class pairwise_exchange {
 public:
  pairwise_exchange(pairwise_task const& task, element_pointer source, element_pointer target,
                    MPI_Comm comm, arena& memory)
      : task_(task), source_(source), target_(target), comm_(comm),
        type_(datatype_of(source.type())), memory_(&memory) {
    plan_rounds();
    for (std::int64_t r = 0; r < std::min(rounds_, depth); ++r) post(r);
    if (!task_.reduces && task_.own != nullptr) copy(*task_.own, source_, target_);
  }
  pairwise_exchange(pairwise_exchange const&) = delete;
  pairwise_exchange& operator=(pairwise_exchange const&) = delete;
  ~pairwise_exchange() {
    if (done_ < rounds_) memory_->retire();
    if (block_ != nullptr) memory_->release(block_, block_bytes_);
  }

  bool advance() {
    while (done_ < rounds_) {
      auto& slot = slots_[done_ % depth];
      int complete = 1;
      if (slot.count > 0)
        check(MPI_Testall(slot.count, slot.requests, &complete, MPI_STATUSES_IGNORE));
      if (!complete) return false;
      finish(done_);
    }
    return true;
  }

  /// Completes the exchange. The thread blocks in MPI instead of polling.
  void wait() {
    while (done_ < rounds_) {
      auto& slot = slots_[done_ % depth];
      check(MPI_Waitall(slot.count, slot.requests, MPI_STATUSES_IGNORE));
      finish(done_);
    }
  }

 private:
  static constexpr std::int64_t depth = 2;

  struct round_slot {
    MPI_Request* requests = nullptr;
    int count = 0;           // number of requests
    element_pointer buffer;  // chunks from each member, then chunks to each member
  };

  int members() const { return task_.members; }
  strided_block const& sent(int j) const {
    return task_.sends[task_.sends.size() == 1 ? 0 : static_cast<std::size_t>(j)];
  }
  /// Returns the block of the target to which the data from member j are written. In a reduction,
  /// this is the part that this rank reduces, for every j.
  strided_block const& received(int j) const {
    return task_.receives[task_.reduces ? 0 : static_cast<std::size_t>(j)];
  }
  /// Returns whether a block is sent in chunks. Sender and receiver get the same result, because
  /// both know the layouts of source and target.
  bool is_cut(strided_block const& b) const {
    return task_.reduces || !b.source_is_run || !b.target_is_run || b.elements > INT_MAX;
  }
  bool unpacks(int j) const { return task_.reduces || !received(j).target_is_run; }

  void plan_rounds() {
    std::int64_t most = 0, most_cut = 0;
    for (auto const blocks : {task_.sends, task_.receives})
      for (auto const& b : blocks) {
        most = std::max(most, b.elements - task_.first);
        if (is_cut(b)) most_cut = std::max(most_cut, b.elements - task_.first);
      }
    chunk_ = pairwise_chunk_of(members()) / source_.size();
    rounds_ = std::max<std::int64_t>(most > 0 ? 1 : 0, (most_cut + chunk_ - 1) / chunk_);
    stride_ = std::min(chunk_, most_cut);
    take_memory();
  }

  /// Allocates one block of the arena and divides it into requests, pointers to addends, and
  /// buffers.
  void take_memory() {
    auto const p = static_cast<std::size_t>(members());
    auto const count = static_cast<std::size_t>(std::min(rounds_, depth));
    if (count == 0) return;
    std::size_t const head = count * 2 * p * sizeof(MPI_Request) + p * sizeof(void const*);
    std::size_t const first = (head + arena::alignment - 1) / arena::alignment * arena::alignment;
    std::size_t const buffer = 2 * p * static_cast<std::size_t>(stride_);
    block_bytes_ = first + count * buffer * static_cast<std::size_t>(source_.size());
    block_ = static_cast<std::byte*>(memory_->allocate(block_bytes_));
    auto* const pointers = reinterpret_cast<void const**>(block_);
    std::uninitialized_default_construct_n(pointers, p);
    addends_ = {pointers, p};
    auto* requests = reinterpret_cast<MPI_Request*>(block_ + p * sizeof(void const*));
    std::uninitialized_default_construct_n(requests, count * 2 * p);
    element_pointer elements(block_ + first, source_.type());
    for (std::size_t s = 0; s < count; ++s, requests += 2 * p) {
      slots_[s] = {requests, 0, elements};
      elements = elements + static_cast<std::int64_t>(buffer);
    }
  }

  element_pointer arrival(std::int64_t round, int j) const {
    return slots_[round % depth].buffer + j * stride_;
  }
  element_pointer departure(std::int64_t round, int j) const {
    return slots_[round % depth].buffer + (members() + j) * stride_;
  }
  interval part(std::int64_t round, strided_block const& b) const {
    if (!is_cut(b)) return {0, round == 0 ? b.elements : 0};
    return intersect(interval{task_.first + round * chunk_, chunk_}, interval{0, b.elements});
  }

  void post(std::int64_t round) {
    auto& slot = slots_[round % depth];
    slot.count = 0;
    int const p = members();
    for (int i = 1; i < p; ++i) {
      int const j = (task_.index + p - i) % p;
      auto const piece = part(round, received(j));
      if (piece.size == 0) continue;
      element_pointer const at = unpacks(j) ? arrival(round, j)
                                            : target_ + received(j).target_offset + piece.begin;
      check(MPI_Irecv(at.at, static_cast<int>(piece.size), type_, j, 0, comm_,
                      &slot.requests[slot.count++]));
    }
    for (int i = 1; i < p; ++i) {
      int const j = (task_.index + i) % p;
      auto const piece = part(round, sent(j));
      if (piece.size == 0) continue;
      element_pointer at = source_ + sent(j).source_offset + piece.begin;
      if (!sent(j).source_is_run) {
        copy_range(sent(j), piece.begin, piece.end(), source_, departure(round, j), false, true);
        at = departure(round, j);
      }
      check(MPI_Isend(at.at, static_cast<int>(piece.size), type_, j, 0, comm_,
                      &slot.requests[slot.count++]));
    }
  }

  void finish(std::int64_t round) {
    if (task_.reduces) {
      reduce(round);
    } else {
      for (int j = 0; j < members(); ++j) {
        if (j == task_.index || !unpacks(j)) continue;
        auto const piece = part(round, received(j));
        copy_range(received(j), piece.begin, piece.end(), arrival(round, j), target_, true, false);
      }
    }
    ++done_;
    if (round + depth < rounds_) post(round + depth);
  }

  void reduce(std::int64_t round) {
    int const p = members();
    auto const& mine = received(task_.index);
    auto const piece = part(round, mine);
    if (piece.size == 0) return;
    auto const& own = sent(task_.index);
    element_pointer own_chunk = source_ + own.source_offset + piece.begin;
    if (!own.source_is_run) {
      copy_range(own, piece.begin, piece.end(), source_, arrival(round, task_.index), false, true);
      own_chunk = arrival(round, task_.index);
    }
    auto const reduce_part = [&](int owner, interval const& part) {
      if (part.size == 0) return;
      for (int i = 0; i < p; ++i) {
        int const j = addend_at(task_.sums, i, owner, p);
        auto const addend = j == task_.index ? own_chunk : arrival(round, j);
        addends_[static_cast<std::size_t>(i)] = (addend + (part.begin - piece.begin)).at;
      }
      reduce_runs(task_.op, part.size, addends_, target_ + mine.target_offset + part.begin);
    };
    if (task_.parts.empty()) return reduce_part(task_.index, piece);
    int owner = 0;
    for (auto const& b : task_.parts)
      reduce_part(owner++, intersect(piece, interval{b.source_offset, b.elements}));
  }

  pairwise_task task_;
  element_pointer source_, target_;
  MPI_Comm comm_;
  MPI_Datatype type_;
  arena* memory_;
  std::int64_t chunk_ = 0, stride_ = 0, rounds_ = 0, done_ = 0;
  round_slot slots_[depth];
  std::byte* block_ = nullptr;
  std::size_t block_bytes_ = 0;
  std::span<void const*> addends_;
};

}  // namespace ashlar::mpi
