// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The last operations of a rank, for the day on which one of them does not end: what, along which axes,
// how much, and how far it came. It costs a copy of some fifty bytes an operation.
//
//   issued   given to its stream
//   ended    the device has come to its end, as far as anybody asked
//
// Entries are numbered from 1. All ranks of a mesh ask for the same operations in the same order, so
// equal numbers of two ranks' records are one operation: the rank whose record ends first is the one
// that the others wait for. Written by the program's thread, read by the watchdog's.

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
  std::int64_t elements = 0;  ///< received by this rank
  std::chrono::steady_clock::time_point issued;
  bool ended = false;
  std::uint64_t replay = 0;  ///< of a graph, from 1; its `elements` are operations
};

class flight_record {
 public:
  using clock = std::chrono::steady_clock;

  explicit flight_record(topology const& t, std::size_t kept = 64) : topology_(t), ring_(kept) {}

  /// Writes down that an operation was issued; its number.
  std::uint64_t issued(transfer const& x, element_type type) {
    std::lock_guard const lock(mutex_);
    std::uint64_t const number = ++last_;
    at(number) = {number, x.kind, x.axes, type, x.received_elements(), clock::now()};
    return number;
  }
  /// Writes down that a graph of so many operations was launched, the `replay`-th time; its number.
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
  /// All operations up to this one have ended.
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
  /// The first that has not ended, or one of number 0. Its time begins when the one before it had ended:
  /// until then it was in a queue. One that the ring has overwritten is taken for
  /// as old as the oldest that is left.
  flight_entry oldest_open() const {
    std::lock_guard const lock(mutex_);
    if (first_open_ > last_) return {};
    std::uint64_t const oldest = last_ < ring_.size() ? 1 : last_ - ring_.size() + 1;
    flight_entry found = at(std::max(first_open_, oldest));
    found.number = first_open_;
    found.issued = std::max(found.issued, progressed_);
    return found;
  }

  /// "#12 all-gather along gpu, 1024 elements of bf16 to receive", "#13 graph replay 3 of 41 operations"
  std::string text(flight_entry const& e) const {
    if (e.replay > 0)
      return "#" + std::to_string(e.number) + " graph replay " + std::to_string(e.replay) + " of " +
             std::to_string(e.elements) + " operations";
    return "#" + std::to_string(e.number) + " " + to_string(e.kind) + " along " +
           to_string(e.axes, topology_) + ", " + std::to_string(e.elements) + " elements of " +
           name_of(e.type) + " to receive";
  }
  /// A line for each kept operation, the oldest first.
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
  clock::time_point progressed_;  // when an end was seen last
  mutable std::mutex mutex_;
};

}  // namespace ashlar::nccl
