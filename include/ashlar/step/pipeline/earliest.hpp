// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the part whose time is the earliest, while the times of parts change one by one. A binary
// tree holds the earlier part of each pair, then of each pair of pairs, and so on. So a change
// takes as many steps as the tree has levels.

#include <limits>

#include <ashlar/support/scratch.hpp>

namespace ashlar::pipelines::detail {

class earliest {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// All times are `never` at first.
  constexpr explicit earliest(int count) {
    while (leaves_ < count) leaves_ *= 2;
    times_ = scratch<double>(static_cast<std::size_t>(leaves_), never);
    winners_ = scratch<int>(2 * times_.size());
    for (int i = 0; i < leaves_; ++i) winners_.data()[leaves_ + i] = i;
    for (int node = leaves_ - 1; node > 0; --node) decide(node);
  }

  constexpr double at(int i) const { return times_.data()[i]; }
  constexpr void set(int i, double time) {
    if (times_.data()[i] == time) return;
    times_.data()[i] = time;
    for (int node = (leaves_ + i) / 2; node > 0; node /= 2) decide(node);
  }
  /// Returns the number of the part with the earliest time. If several parts have this time,
  /// returns the lowest number.
  constexpr int first() const { return winners_.data()[1]; }

 private:
  constexpr void decide(int node) {
    int const left = winners_.data()[2 * node], right = winners_.data()[2 * node + 1];
    winners_.data()[node] = at(right) < at(left) ? right : left;
  }

  int leaves_ = 1;
  scratch<double> times_;
  // The earliest part below each node. Node 1 is the root. The children of node n are 2 n and
  // 2 n + 1.
  scratch<int> winners_;
};

}  // namespace ashlar::pipelines::detail
