// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Carries out one rank's messages of a crossing (plan/crossing/part_in_crossing.hpp). Messages begin
// in the order of the crossing, a few of them at a time. What a rank of the target passes on is sent
// when it has arrived. Elements that lie side by side in the shard are sent from there and arrive
// there. Others are packed.
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

#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/layout/range_of_region.hpp>
#include <ashlar/plan/crossing/part_in_crossing.hpp>
#include <ashlar/support/recycled.hpp>

namespace ashlar::mpi {

class crossing_messages {
 public:
  /// `shard`, in `memory`, has the elements of box `tile` of the tensor, of the source or of the
  /// target. All other ranks of the crossing must give the same `tag`. `part` must outlive the object.
  crossing_messages(part_in_crossing const& part, box const& tile, void* shard,
                    std::size_t element_size, MPI_Comm comm, int tag, arena& memory)
      : part_(&part), tile_(tile), shard_(static_cast<std::byte*>(shard)), size_(element_size),
        comm_(comm), tag_(tag), memory_(&memory),
        passes_on_(std::any_of(part.sends.begin(), part.sends.end(),
                               [](auto const& m) { return m.is_passed_on; })) {}
  crossing_messages(crossing_messages const&) = delete;
  crossing_messages& operator=(crossing_messages const&) = delete;
  ~crossing_messages() {
    if (open_.empty()) return;
    // An exception ends the crossing. MPI may still use the shard and the buffers, so they stay.
    memory_->retire();
    new recycled_vector<open_message>(std::move(open_));
  }

  /// Does what is possible now. Returns true when all messages have ended.
  bool advance() {
    end_some();
    auto const &sends = part_->sends, &receives = part_->receives;
    while (open_receives_ < most_open && next_receive_ < receives.size())
      begin(receives[next_receive_++], true);
    while (open_.size() - open_receives_ < most_open && next_send_ < sends.size() &&
           has_arrived(sends[next_send_]))
      begin(sends[next_send_++], false);
    return open_.empty() && next_send_ == sends.size() && next_receive_ == receives.size();
  }

 private:
  /// Messages of a kind that are open at a time, so that buffers stay small.
  static constexpr std::size_t most_open = 8;

  struct open_message {
    crossing_message const* what;
    bool is_receive;
    std::unique_ptr<std::byte[]> buffer;  ///< null if the elements lie side by side in the shard
  };

  int bytes_of(crossing_message const& m) const {
    auto const bytes = static_cast<std::size_t>(m.size) * size_;
    if (bytes > INT_MAX)
      throw error("redistribute", "a message of a crossing has " + std::to_string(bytes) +
                                      " bytes, more than MPI 3 can send at once.");
    return static_cast<int>(bytes);
  }
  /// Calls f(address, bytes) for each piece of the shard that has elements of the message.
  template <class F>
  void for_each_piece(crossing_message const& m, F const& f) const {
    for_each_run(tile_, m.region, m.begin, m.size, [&](std::int64_t offset, std::int64_t n) {
      f(shard_ + static_cast<std::size_t>(offset) * size_, static_cast<std::size_t>(n) * size_);
    });
  }

  void begin(crossing_message const& m, bool is_receive) {
    int const bytes = bytes_of(m);
    std::byte* at = nullptr;
    for_each_piece(m, [&](std::byte* piece, std::size_t n) {
      if (n == static_cast<std::size_t>(bytes)) at = piece;
    });
    open_.push_back({&m, is_receive, nullptr});
    requests_.push_back(MPI_REQUEST_NULL);
    open_receives_ += is_receive;
    if (at == nullptr) {
      open_.back().buffer = std::make_unique_for_overwrite<std::byte[]>(
          static_cast<std::size_t>(bytes));
      at = open_.back().buffer.get();
      std::byte* to = at;
      if (!is_receive)
        for_each_piece(m, [&](std::byte const* piece, std::size_t n) {
          std::memcpy(to, piece, n);
          to += n;
        });
    }
    if (is_receive) check(MPI_Irecv(at, bytes, MPI_BYTE, m.other, tag_, comm_, &requests_.back()));
    else check(MPI_Isend(at, bytes, MPI_BYTE, m.other, tag_, comm_, &requests_.back()));
  }

  void end_some() {
    for (std::size_t i = 0; i < open_.size();) {
      int ended = 0;
      check(MPI_Test(&requests_[i], &ended, MPI_STATUS_IGNORE));
      if (ended == 0) {
        ++i;
        continue;
      }
      if (open_[i].is_receive) store(open_[i]);
      open_receives_ -= open_[i].is_receive;
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void store(open_message const& m) {
    if (std::byte const* from = m.buffer.get())
      for_each_piece(*m.what, [&](std::byte* piece, std::size_t n) {
        std::memcpy(piece, from, n);
        from += n;
      });
    if (passes_on_) note_arrival(*m.what);
  }
  void note_arrival(crossing_message const& m) {
    // Ranges that meet become one.
    auto& own = arrived_[m.task];
    std::int64_t begin = m.begin, end = begin + m.size;
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
  bool has_arrived(crossing_message const& m) const {
    if (!m.is_passed_on) return true;
    auto const found = arrived_.find(m.task);
    if (found == arrived_.end()) return false;
    auto const after = found->second.upper_bound(m.begin);
    return after != found->second.begin() && std::prev(after)->second >= m.begin + m.size;
  }

  part_in_crossing const* part_;
  box tile_;
  std::byte* shard_;
  std::size_t size_;
  MPI_Comm comm_;
  int tag_;
  arena* memory_;
  bool passes_on_;  // whether this rank sends what it has received
  std::size_t next_send_ = 0, next_receive_ = 0, open_receives_ = 0;
  recycled_vector<open_message> open_;
  recycled_vector<MPI_Request> requests_;
  std::map<int, std::map<std::int64_t, std::int64_t>> arrived_;  // by task: begins and ends
};

}  // namespace ashlar::mpi
