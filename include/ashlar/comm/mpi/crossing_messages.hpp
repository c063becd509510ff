// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Carries out one rank's messages of a crossing (plan/crossing/transfers.hpp). A crossing moves a
// tensor from one part of a mesh, the source, to a disjoint part, the target. Messages begin in the
// order of the crossing, a few of them at a time. A rank of the source receives nothing and can
// send at once. A rank of the target may have to pass elements on, and sends them when they have
// arrived. Elements that are contiguous in the shard are sent from the shard, or received into it.
// Other elements go through a buffer. Between ranks that share memory, a message is empty: it says
// only that the elements can be copied now (crossing_neighbours.hpp).
//
// Of all unfinished messages of a crossing, the first one in the order of the crossing can always
// proceed. Its sender has the elements and has begun all earlier messages, and its receiver has
// begun to receive it. So there is no deadlock.

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/mpi/crossing_neighbours.hpp>
#include <ashlar/comm/prepared_crossing.hpp>
#include <ashlar/layout/range_of_region.hpp>
#include <ashlar/support/keep_forever.hpp>
#include <ashlar/support/recycled.hpp>

namespace ashlar::mpi {

class crossing_messages {
 public:
  /// `shard` is this rank's shard of the tensor, in `memory`. It has the elements of box `tile`.
  /// All other ranks of the crossing must give the same `number`. `c` and the shard must outlive
  /// this object.
  crossing_messages(prepared_crossing const& c, box const& tile, void* shard,
                    std::size_t element_size, MPI_Comm comm, int number, arena& memory,
                    shared_window const& window)
      : tasks_(c.plan.across.tasks), sends_(c.sends), receives_(c.receives), tile_(tile),
        shard_(static_cast<std::byte*>(shard)), size_(element_size), comm_(comm),
        tag_(number % tags), memory_(&memory),
        neighbours_(sends_, receives_, tile, shard, element_size, window, comm, tag_, tags + tag_) {
  }
  crossing_messages(crossing_messages const&) = delete;
  crossing_messages& operator=(crossing_messages const&) = delete;
  ~crossing_messages() {
    if (has_ended_) return;
    // An exception ends the crossing. MPI may still use the shard and the buffers, so they are
    // never freed.
    memory_->retire();
    keep_forever(std::move(open_));
  }

  /// Does what is possible now. Returns true when all messages have ended.
  bool advance() {
    bool goes_on = true;
    while (goes_on) {
      begin_some();
      goes_on = end_some();
    }
    has_ended_ = open_.empty() && next_send_ == sends_.size() &&
                 next_receive_ == receives_.size() && neighbours_.have_ended();
    return has_ended_;
  }

 private:
  /// Messages of crossing n have the tag n mod `tags`. The last message of a taker
  /// (crossing_neighbours.hpp) has this tag plus `tags`. Every MPI implementation permits tags
  /// below 2 * tags.
  static constexpr int tags = 16'384;
  /// The largest number of sends, and of receives, that are under way at a time. This limit keeps
  /// the buffers small.
  static constexpr std::size_t most_open = 8;
  /// The largest number of receives under way from one rank. With two, the second message travels
  /// while the first one is stored. With more, messages that share the network would all arrive
  /// late, and so would the messages in which this rank passes elements on.
  static constexpr std::ptrdiff_t most_open_from = 2;

  struct open_message {
    crossing_transfer what;
    bool is_receive;
    bool is_empty;                        ///< whether the elements travel in shared memory
    std::unique_ptr<std::byte[]> buffer;  ///< null if the message needs no buffer
    MPI_Request request = MPI_REQUEST_NULL;
  };

  box const& region_of(crossing_transfer const& t) const {
    return tasks_[static_cast<std::size_t>(t.task)].region;
  }
  std::size_t bytes_of(crossing_transfer const& t) const {
    return static_cast<std::size_t>(t.size) * size_;
  }

  int count_of(open_message const& m) const {
    if (m.is_empty) return 0;
    if (bytes_of(m.what) > INT_MAX)
      throw error("redistribute", "a message of a crossing has " +
                                      std::to_string(bytes_of(m.what)) +
                                      " bytes, more than MPI 3 can send at once.");
    return static_cast<int>(bytes_of(m.what));
  }

  std::ptrdiff_t open_from(int rank) const {
    return std::count_if(open_.begin(), open_.end(), [rank](open_message const& m) {
      return m.is_receive && m.what.from == rank;
    });
  }
  void begin_some() {
    while (open_receives_ < most_open && next_receive_ < receives_.size() &&
           open_from(receives_[next_receive_].from) < most_open_from) {
      auto const by = neighbours_.from(receives_[next_receive_].from);
      if (by == crossing_carrier::unknown) break;
      receive(receives_[next_receive_++], by);
    }
    while (open_.size() - open_receives_ < most_open && next_send_ < sends_.size() &&
           has(sends_[next_send_])) {
      auto const by = neighbours_.to(sends_[next_send_].to);
      send(sends_[next_send_++], by);
    }
  }
  void receive(crossing_transfer const& t, crossing_carrier by) {
    std::byte* const to = open(t, true, by);
    auto& own = open_.back();
    check(MPI_Irecv(to, count_of(own), MPI_BYTE, t.from, tag_, comm_, &own.request));
  }
  void send(crossing_transfer const& t, crossing_carrier by) {
    std::byte* const from = open(t, false, by);
    auto& own = open_.back();
    if (own.buffer != nullptr) copy(own);
    std::atomic_thread_fence(std::memory_order_release);  // for takers in shared memory
    check(MPI_Isend(from, count_of(own), MPI_BYTE, t.to, tag_, comm_, &own.request));
  }
  /// Adds a message. Returns the address of its elements, in the shard or in a new buffer, or null
  /// if the message is empty.
  std::byte* open(crossing_transfer const& t, bool is_receive, crossing_carrier by) {
    bool const is_empty = by == crossing_carrier::shared_memory;
    open_.push_back({t, is_receive, is_empty, nullptr, MPI_REQUEST_NULL});
    open_receives_ += is_receive;
    if (is_empty) return nullptr;
    std::byte* place = nullptr;
    for_each_run(tile_, region_of(t), t.begin, t.size, [&](std::int64_t offset, std::int64_t n) {
      if (n == t.size) place = shard_ + static_cast<std::size_t>(offset) * size_;
    });
    if (place != nullptr) return place;
    open_.back().buffer = std::make_unique_for_overwrite<std::byte[]>(bytes_of(t));
    return open_.back().buffer.get();
  }

  /// Completes the messages that MPI has finished. Returns whether there was such a message.
  bool end_some() {
    bool any = false;
    for (std::size_t i = 0; i < open_.size();) {
      int ended = 0;
      check(MPI_Test(&open_[i].request, &ended, MPI_STATUS_IGNORE));
      if (ended == 0) {
        ++i;
        continue;
      }
      any = true;
      if (open_[i].is_receive) store(open_[i]);
      open_receives_ -= open_[i].is_receive;
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return any;
  }

  /// Copies the elements of a message from its buffer to the shard if it was received, and from the
  /// shard to its buffer otherwise.
  void copy(open_message const& m) {
    std::byte* in_buffer = m.buffer.get();
    for_each_run(tile_, region_of(m.what), m.what.begin, m.what.size,
                 [&](std::int64_t offset, std::int64_t n) {
                   auto const bytes = static_cast<std::size_t>(n) * size_;
                   std::byte* const in_shard = shard_ + static_cast<std::size_t>(offset) * size_;
                   if (m.is_receive) std::memcpy(in_shard, in_buffer, bytes);
                   else std::memcpy(in_buffer, in_shard, bytes);
                   in_buffer += bytes;
                 });
  }
  void store(open_message const& m) {
    if (m.is_empty) neighbours_.take(m.what, region_of(m.what));
    else if (m.buffer != nullptr) copy(m);
    if (sends_.empty()) return;  // this rank passes nothing on
    // Adds the range of elements that has arrived to the list of ranges of its task. Merges it with
    // the ranges that are adjacent to it.
    auto& own = arrived_[m.what.task];
    std::int64_t begin = m.what.begin, end = begin + m.what.size;
    for (auto it = own.begin(); it != own.end();) {
      if (it->second < begin || it->first > end) {
        ++it;
        continue;
      }
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = own.erase(it);
    }
    own[begin] = end;
  }
  /// Returns whether this rank has all elements that it must send in message t. A rank of the
  /// source has them from the start. At a rank of the target they must have arrived, perhaps in
  /// several messages.
  bool has(crossing_transfer const& t) const {
    if (receives_.empty()) return true;  // a rank of the source
    auto const found = arrived_.find(t.task);
    if (found == arrived_.end()) return false;
    auto const after = found->second.upper_bound(t.begin);
    return after != found->second.begin() && std::prev(after)->second >= t.begin + t.size;
  }

  std::vector<unit_task> const& tasks_;
  std::vector<crossing_transfer> const &sends_, &receives_;
  box tile_;
  std::byte* shard_;
  std::size_t size_;
  MPI_Comm comm_;
  int tag_;
  arena* memory_;
  std::size_t next_send_ = 0, next_receive_ = 0, open_receives_ = 0;
  crossing_neighbours neighbours_;
  recycled_vector<open_message> open_;
  bool has_ended_ = false;
  std::map<int, std::map<std::int64_t, std::int64_t>> arrived_;  // by task: begin and end of ranges
};

}  // namespace ashlar::mpi
