// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Rows of a matrix of which most rows are zero, as the backward pass of an embedding makes them:
//
//   row_sums      rows to which a backward pass adds, in any order of their ids
//   sorted_rows   the same rows, in the order of their ids
//
// The id of a row is its number in the rank's shard of the matrix.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <ashlar/layout/layout.hpp>

namespace ashlar::nn {

/// Rows in the order of their ids, which are all different.
template <class T>
struct sorted_rows {
  std::vector<std::int32_t> ids;
  std::vector<T> values;  ///< one row after the other
  std::int64_t columns = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(ids.size()); }
  T const* row(std::int64_t i) const { return values.data() + i * columns; }
  std::int64_t id(std::int64_t i) const { return ids[static_cast<std::size_t>(i)]; }
};

/// Rows that are found by their ids. The mean time to find one does not depend on how many there
/// are.
template <class T>
class row_sums {
 public:
  /// `shard` is the box of the matrix that the rank has. Its last dim counts the columns.
  explicit row_sums(box const& shard)
      : shard_(shard), columns_(shard.rank() == 0 ? 0 : shard[shard.rank() - 1].size) {}

  box const& shard() const { return shard_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }

  /// Returns the row with this id, which is zero at first. The pointer is valid until the next call
  /// of row() or clear().
  T* row(std::int64_t id) {
    if (2 * ids_.size() >= slots_.size()) grow();
    auto at = first_slot(static_cast<std::int32_t>(id));
    for (; slots_[at] >= 0; at = next(at))
      if (ids_[static_cast<std::size_t>(slots_[at])] == id) return values_of(slots_[at]);
    slots_[at] = static_cast<std::int32_t>(ids_.size());
    ids_.push_back(static_cast<std::int32_t>(id));
    values_.resize(values_.size() + static_cast<std::size_t>(columns_), T(0));
    return values_of(slots_[at]);
  }

  /// Removes all rows. Keeps their memory for later rows.
  void clear() {
    std::fill(slots_.begin(), slots_.end(), -1);
    ids_.clear();
    values_.clear();
  }

  sorted_rows<T> sorted() const {
    std::vector<std::int32_t> order(ids_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return ids_[static_cast<std::size_t>(a)] < ids_[static_cast<std::size_t>(b)];
    });
    sorted_rows<T> made;
    made.columns = columns_;
    made.ids.reserve(order.size());
    made.values.reserve(values_.size());
    for (auto const i : order) {
      made.ids.push_back(ids_[static_cast<std::size_t>(i)]);
      auto const first = values_.begin() + static_cast<std::ptrdiff_t>(i * columns_);
      made.values.insert(made.values.end(), first, first + static_cast<std::ptrdiff_t>(columns_));
    }
    return made;
  }

 private:
  T* values_of(std::int32_t place) { return values_.data() + place * columns_; }
  std::size_t first_slot(std::int32_t id) const {
    std::uint64_t const hash = static_cast<std::uint32_t>(id) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(hash >> 32) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  /// Doubles the number of slots, which is a power of two.
  void grow() {
    slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), -1);
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      auto at = first_slot(ids_[i]);
      while (slots_[at] >= 0) at = next(at);
      slots_[at] = static_cast<std::int32_t>(i);
    }
  }

  box shard_;
  std::int64_t columns_;
  std::vector<std::int32_t> slots_;  // indices into ids_, or -1; at most half of the slots are used
  std::vector<std::int32_t> ids_;    // in the order in which rows were first asked for
  std::vector<T> values_;
};

}  // namespace ashlar::nn
