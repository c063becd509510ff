// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Records the last operations of a rank, to diagnose an operation that does not end. The record of
// an operation contains its kind, its axes, its size and its state. This costs a copy of about
// fifty bytes per operation. The states are:
//
//   issued   given to its stream
//   ended    ended on the device, and the watchdog has noticed this
//
// Entries are numbered from 1. All ranks of a mesh issue the same operations in the same order, so
// equal numbers in two ranks' records denote the same operation. The rank whose last entry has the
// smallest number is behind, and the others wait for it. The program's thread writes the record,
// and the watchdog's thread reads it.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar::nccl {

struct flight_entry {
  std::uint64_t number = 0;
  collective kind = collective::all_reduce;
  axis_list axes;
  element_type type = element_type::f32;
  std::int64_t elements = 0;  ///< number of elements that this rank receives
  std::chrono::steady_clock::time_point issued;
  bool ended = false;
  /// For a replay of a graph: the number of the replay, counted from 1. In this case, `elements` is
  /// the number of operations of the graph. For a single transfer: 0.
  std::uint64_t replay = 0;
};

class flight_record {
 public:
  using clock = std::chrono::steady_clock;

  explicit flight_record(topology const& t, std::size_t kept = 64) : topology_(t), ring_(kept) {}

  /// Records that an operation was issued. Returns its number.
  std::uint64_t issued(transfer const& x, element_type type) {
    std::lock_guard const lock(mutex_);
    std::uint64_t const number = ++last_;
    at(number) = {number, x.kind, x.axes, type, x.received_elements(), clock::now()};
    return number;
  }
  /// Records the replay number `replay` of a graph with `operations` operations. Returns the number
  /// of the entry.
  std::uint64_t replayed(std::uint64_t replay, std::int64_t operations) {
    std::lock_guard const lock(mutex_);
    std::uint64_t const number = ++last_;
    flight_entry e;
    e.number = number;
    e.elements = operations;
    e.issued = clock::now();
    e.replay = replay;
    at(number) = e;
    return number;
  }
  /// Marks all operations up to `number` as ended.
  void ended(std::uint64_t number) {
    std::lock_guard const lock(mutex_);
    if (first_open_ <= number) progressed_ = clock::now();
    for (; first_open_ <= number; ++first_open_)
      if (at(first_open_).number == first_open_) at(first_open_).ended = true;
  }

  std::uint64_t last() const {
    std::lock_guard const lock(mutex_);
    return last_;
  }
  /// Returns the first operation x that has not ended, or an entry with number 0 if all have ended.
  /// Two members of the returned entry can differ from the recorded entry of x:
  ///
  /// - `issued` is the time since which x can run. This is the end of the operation before x, if
  ///   that operation ended after x was issued.
  /// - If the ring buffer no longer contains x, only `number` is that of x. The other members are
  ///   copied from the oldest entry in the buffer.
  flight_entry oldest_open() const {
    std::lock_guard const lock(mutex_);
    if (first_open_ > last_) return {};
    std::uint64_t const oldest = last_ < ring_.size() ? 1 : last_ - ring_.size() + 1;
    flight_entry found = at(std::max(first_open_, oldest));
    found.number = first_open_;
    found.issued = std::max(found.issued, progressed_);
    return found;
  }

  /// Returns the text of an entry, such as "#12 all-gather along gpu, 1024 elements of bf16 to
  /// receive" or "#13 graph replay 3 of 41 operations".
  std::string text(flight_entry const& e) const {
    if (e.replay > 0)
      return "#" + std::to_string(e.number) + " graph replay " + std::to_string(e.replay) + " of " +
             std::to_string(e.elements) + " operations";
    return "#" + std::to_string(e.number) + " " + to_string(e.kind) + " along " +
           to_string(e.axes, topology_) + ", " + std::to_string(e.elements) + " elements of " +
           name_of(e.type) + " to receive";
  }
  /// Returns one line per recorded operation, the oldest first.
  std::string text() const {
    std::lock_guard const lock(mutex_);
    std::string lines;
    auto const now = clock::now();
    std::uint64_t const oldest = last_ < ring_.size() ? 1 : last_ - ring_.size() + 1;
    for (std::uint64_t n = oldest; n <= last_; ++n) {
      auto const& e = at(n);
      auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - e.issued).count();
      lines += "  " + text(e) +
               (e.ended ? ", ended" : ", issued " + std::to_string(ms) + " ms ago") + "\n";
    }
    return lines;
  }

 private:
  static char const* name_of(element_type type) {
    constexpr char const* names[] = {"f32", "f64", "i32", "i64", "bf16"};
    return names[static_cast<int>(type)];
  }
  flight_entry& at(std::uint64_t number) { return ring_[number % ring_.size()]; }
  flight_entry const& at(std::uint64_t number) const { return ring_[number % ring_.size()]; }

  topology topology_;
  std::vector<flight_entry> ring_;
  std::uint64_t last_ = 0, first_open_ = 1;
  clock::time_point progressed_;  // when an operation was last seen to have ended
  mutable std::mutex mutex_;
};

}  // namespace ashlar::nccl
