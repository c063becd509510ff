// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The order of a crossing between ports, as data. Each share of a task goes along a chain of ports:
// from its sender to the first receiver, from there to the next one, and so on, so that a sender
// sends each element once. All shares are cut into K equal chunks. Time is divided into periods. In
// period q, hop h of each share carries chunk q - h, which has arrived in the period before. All
// periods have the same rounds (open_shop.hpp), so a crossing takes K + hops - 1 periods, where
// `hops` is the number of hops of the longest chain. Each period costs the latencies of its
// messages. So a large K costs more latency, and a small K costs more time to fill the chains
// (chunks.hpp).

#include <cstdint>
#include <vector>

#include <ashlar/plan/crossing/port_task.hpp>

namespace ashlar {

/// A range of the elements of a task, in row-major order, and the ports along which it goes.
struct crossing_share {
  int task = 0;
  std::int64_t begin = 0, size = 0;
  std::vector<int> chain;  ///< the sender, then all receivers of the task
  friend constexpr bool operator==(crossing_share const&, crossing_share const&) = default;
};

/// A run of elements of a share, from `begin` to begin + size - 1, on one hop of the share's chain.
struct crossing_piece {
  int share = 0, hop = 0;
  std::int64_t begin = 0, size = 0;
  friend constexpr bool operator==(crossing_piece const&, crossing_piece const&) = default;
};

struct crossing_round {
  std::int64_t size = 0;  ///< elements that the busiest port sends or receives
  std::vector<crossing_piece> pieces;
  friend constexpr bool operator==(crossing_round const&, crossing_round const&) = default;
};

struct port_schedule {
  std::vector<crossing_share> shares;
  std::vector<crossing_round> rounds;
  int hops = 0;
  std::int64_t least_elements = 0;  ///< a lower bound of elements() for every order

  /// Returns the sum of the sizes of all rounds, which determines the time of the transfers.
  constexpr std::int64_t elements() const {
    std::int64_t sum = 0;
    for (auto const& r : rounds) sum += r.size;
    return sum;
  }
  friend constexpr bool operator==(port_schedule const&, port_schedule const&) = default;
};

}  // namespace ashlar
