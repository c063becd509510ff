// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Carries out one rank's messages of a crossing (plan/crossing/transfers.hpp). Messages begin in the
// order of the crossing, a few of them at a time. A rank of the source receives nothing and has all
// that it sends. A rank of the target passes on what it has received, when it has arrived.
//
// The first unfinished message of the whole crossing always can go on: its sender has begun all its
// earlier ones and has what it sends, and its receiver has begun to receive it. So there is no
// deadlock.

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/prepared_crossing.hpp>
#include <ashlar/layout/range_of_region.hpp>

namespace ashlar::mpi {

class crossing_messages {
 public:
  /// `shard` has the elements of box `tile` of the tensor, of the source or of the target. All other
  /// ranks of the crossing must give the same `tag`. `c` must outlive this object.
  crossing_messages(prepared_crossing const& c, box const& tile, void* shard,
                    std::size_t element_size, MPI_Comm comm, int tag)
      : tasks_(c.plan.across.tasks), sends_(c.sends), receives_(c.receives), tile_(tile),
        shard_(static_cast<std::byte*>(shard)), size_(element_size), comm_(comm), tag_(tag) {}
  crossing_messages(crossing_messages const&) = delete;
  crossing_messages& operator=(crossing_messages const&) = delete;
  ~crossing_messages() {
    if (open_.empty()) return;
    // An exception ends the crossing. MPI may still use the buffers, so they stay for ever.
    new std::vector<open_message>(std::move(open_));
  }

  /// Does what is possible now. Returns true when all messages have ended.
  bool advance() {
    end_some();
    while (open_receives_ < most_open && next_receive_ < receives_.size()) receive();
    while (open_.size() - open_receives_ < most_open && next_send_ < sends_.size() &&
           has(sends_[next_send_]))
      send();
    return open_.empty() && next_send_ == sends_.size() && next_receive_ == receives_.size();
  }

 private:
  /// Messages of a kind that are open at a time, so that buffers stay small.
  static constexpr std::size_t most_open = 8;

  struct open_message {
    crossing_transfer what;
    bool is_receive;
    std::unique_ptr<std::byte[]> buffer;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  box const& region_of(crossing_transfer const& t) const {
    return tasks_[static_cast<std::size_t>(t.task)].region;
  }
  std::size_t bytes_of(crossing_transfer const& t) const {
    return static_cast<std::size_t>(t.size) * size_;
  }

  int count_of(crossing_transfer const& t) const {
    if (bytes_of(t) > INT_MAX)
      throw error("redistribute", "a message of a crossing has " + std::to_string(bytes_of(t)) +
                                      " bytes, more than MPI 3 can send at once.");
    return static_cast<int>(bytes_of(t));
  }

  void receive() {
    auto const& t = receives_[next_receive_++];
    auto& message = open(t, true);
    check(MPI_Irecv(message.buffer.get(), count_of(t), MPI_BYTE, t.from, tag_, comm_,
                    &message.request));
  }
  void send() {
    auto const& t = sends_[next_send_++];
    auto& message = open(t, false);
    copy(message);
    check(MPI_Isend(message.buffer.get(), count_of(t), MPI_BYTE, t.to, tag_, comm_,
                    &message.request));
  }
  open_message& open(crossing_transfer const& t, bool is_receive) {
    open_.push_back({t, is_receive, std::make_unique_for_overwrite<std::byte[]>(bytes_of(t)),
                     MPI_REQUEST_NULL});
    open_receives_ += is_receive;
    return open_.back();
  }

  void end_some() {
    for (std::size_t i = 0; i < open_.size();) {
      int ended = 0;
      check(MPI_Test(&open_[i].request, &ended, MPI_STATUS_IGNORE));
      if (ended == 0) {
        ++i;
        continue;
      }
      if (open_[i].is_receive) store(open_[i]);
      open_receives_ -= open_[i].is_receive;
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    }
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
    copy(m);
    // Ranges that meet become one.
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
  /// Returns whether this rank has what it sends in a message.
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
  std::size_t next_send_ = 0, next_receive_ = 0, open_receives_ = 0;
  std::vector<open_message> open_;
  std::map<int, std::map<std::int64_t, std::int64_t>> arrived_;  // by task: begins and ends
};

}  // namespace ashlar::mpi
