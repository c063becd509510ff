// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What one rank sends and receives in a crossing, so that a crossing that happens in every step is
// worked out once.

#include <algorithm>
#include <vector>

#include <ashlar/plan/crossing/transfers.hpp>

namespace ashlar {

/// One message: a range of the elements of a region of the tensor, in row-major order of the region.
struct crossing_message {
  int other = 0;  ///< the rank of the whole mesh to which or from which it goes
  int task = 0;   ///< the unit task that has the region
  box region;
  std::int64_t begin = 0, size = 0;
  bool is_passed_on = false;  ///< sends: this rank receives the elements before

  friend constexpr bool operator==(crossing_message const&, crossing_message const&) = default;
};

struct part_in_crossing {
  std::vector<crossing_message> sends, receives;  ///< in the order of the crossing
};

/// Returns the part of a rank of the whole mesh.
constexpr part_in_crossing part_in(crossing const& c, topology const& whole, int rank) {
  part_in_crossing own;
  for_each_transfer(
      c, whole,
      [&](crossing_transfer const& t) {
        auto const& task = c.tasks.data()[t.task];
        crossing_message const m{
            t.to,    t.task, task.region,
            t.begin, t.size, !std::binary_search(task.owners.begin(), task.owners.end(), rank)};
        if (t.from == rank) own.sends.push_back(m);
        if (t.to != rank) return;
        own.receives.push_back(m);
        own.receives.back().other = t.from;
        own.receives.back().is_passed_on = false;
      },
      rank);
  return own;
}

}  // namespace ashlar
