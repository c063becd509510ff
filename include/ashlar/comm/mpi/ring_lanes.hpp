// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The common base class of the ring algorithms. In a ring, each member of a group, with index r,
// sends data to member r + 1 and receives data from member r - 1. With p members, a ring algorithm
// takes p - 1 steps.
//
// Blocks are cut into numbered chunks, and each chunk goes through the p - 1 steps independently.
// Several chunks are processed at a time, one by each "lane". Lane l begins with chunk l of every
// block, then handles chunk l + lane_count of every block, and so on. So the messages of one lane
// travel while the data of another lane are reduced, and the buffers of a lane stay in the cache.
// The messages of lane l have tag l.
//
//   step t of a lane   send from buffer (t - 1) mod 2, receive into buffer t mod 2, then process
//                      the received chunk
//
// Blocks of different sizes are never padded. A block that is shorter than the longest one has
// empty chunks at its end, and empty chunks are not sent. A ring algorithm derives from this class
// and defines the two parts of a step:
//
//   post(lane)     starts the messages of lane.step (send, receive)
//   finish(lane)   processes the data when the messages have ended

#include <algorithm>

#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/element_pointer.hpp>
#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/layout/region.hpp>
#include <ashlar/plan/packing.hpp>

namespace ashlar::mpi {

/// The size in bytes of a chunk. A chunk is the part of a block that one message carries.
inline constexpr std::int64_t ring_chunk_bytes = packing_chunk_bytes;

template <class Ring>
class ring_lanes {
 public:
  ring_lanes(ring_lanes const&) = delete;
  ring_lanes& operator=(ring_lanes const&) = delete;

  /// Does all work that is possible now, without waiting. Returns true when all chunks are done.
  bool advance() {
    for (auto& l : lanes_)
      while (l.under_way) {
        int complete = 0;
        check(MPI_Testall(2, l.requests, &complete, MPI_STATUSES_IGNORE));
        if (!complete) break;
        go_on(l);
      }
    return under_way_ == 0;
  }
  /// Completes the ring algorithm. The thread blocks in MPI. There is no deadlock, because all
  /// members wait for their lanes in the same order.
  void wait() {
    while (under_way_ > 0)
      for (auto& l : lanes_) {
        if (!l.under_way) continue;
        check(MPI_Waitall(2, l.requests, MPI_STATUSES_IGNORE));
        go_on(l);
      }
  }

 protected:
  static constexpr int lane_count = 3;

  struct lane {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};  // send, receive
    element_pointer buffers[3];
    std::int64_t chunk = 0;
    int step = 1;
    bool under_way = false;
  };

  /// `longest` is the number of elements of the longest block. `buffers` is the number of buffers
  /// per lane, 0 to 3. Each buffer has room for one chunk.
  ring_lanes(int members, int index, element_type type, std::int64_t longest, int buffers,
             MPI_Comm comm, arena& memory)
      : members_(members), index_(index), comm_(comm), type_(datatype_of(type)), memory_(&memory) {
    chunk_ = ring_chunk_bytes / size_of(type);
    chunks_ = (longest + chunk_ - 1) / chunk_;
    std::int64_t const stride = std::min(chunk_, longest);
    bytes_ = static_cast<std::size_t>(std::min<std::int64_t>(lane_count, chunks_) * buffers *
                                      stride) *
             static_cast<std::size_t>(size_of(type));
    if (bytes_ == 0) return;
    memory_block_ = memory_->allocate(bytes_);
    element_pointer next(memory_block_, type);
    for (int l = 0; l < std::min<std::int64_t>(lane_count, chunks_); ++l)
      for (int b = 0; b < buffers; ++b, next = next + stride) lanes_[l].buffers[b] = next;
  }
  ~ring_lanes() {
    if (under_way_ > 0) memory_->retire();
    if (memory_block_ != nullptr) memory_->release(memory_block_, bytes_);
  }

  void begin() {
    if (members_ == 1) return;
    for (int i = 0; i < std::min<std::int64_t>(lane_count, chunks_); ++i) {
      lanes_[i].chunk = i;
      lanes_[i].under_way = true;
      ++under_way_;
      ring().post(lanes_[i]);
    }
  }

  /// Returns the index of the member that is `steps` places before this one in the ring. This is
  /// also the index of that member's block, since block r belongs to member r.
  int behind(int steps) const { return (index_ + 2 * members_ - steps) % members_; }

  /// Returns the chunk that lane `l` handles now, as a range of the `elements` elements of a block.
  interval part(lane const& l, std::int64_t elements) const {
    return intersect(interval{l.chunk * chunk_, chunk_}, interval{0, elements});
  }

  void send(lane& l, element_pointer data, std::int64_t elements) {
    if (elements > 0)
      check(MPI_Isend(data.at, static_cast<int>(elements), type_, behind(-1), tag(l), comm_,
                      &l.requests[0]));
  }
  void receive(lane& l, element_pointer data, std::int64_t elements) {
    if (elements > 0)
      check(MPI_Irecv(data.at, static_cast<int>(elements), type_, behind(1), tag(l), comm_,
                      &l.requests[1]));
  }

  int members_, index_;

 private:
  Ring& ring() { return static_cast<Ring&>(*this); }
  int tag(lane const& l) const { return static_cast<int>(&l - lanes_); }

  void go_on(lane& l) {
    ring().finish(l);
    if (++l.step == members_) {
      l.step = 1;
      l.chunk += lane_count;
      l.under_way = l.chunk < chunks_;
    }
    if (l.under_way) ring().post(l);
    else --under_way_;
  }

  MPI_Comm comm_;
  MPI_Datatype type_;
  arena* memory_;
  std::int64_t chunk_ = 0, chunks_ = 0;
  std::size_t bytes_ = 0;
  void* memory_block_ = nullptr;
  int under_way_ = 0;
  lane lanes_[lane_count];
};

/// shortest_of returns the number of elements of the shortest of several blocks, and longest_of
/// returns that of the longest block.
template <class Blocks>
std::int64_t shortest_of(Blocks const& blocks) {
  std::int64_t least = blocks[0].elements;
  for (auto const& b : blocks) least = std::min(least, b.elements);
  return least;
}
template <class Blocks>
std::int64_t longest_of(Blocks const& blocks) {
  std::int64_t most = 0;
  for (auto const& b : blocks) most = std::max(most, b.elements);
  return most;
}

}  // namespace ashlar::mpi
