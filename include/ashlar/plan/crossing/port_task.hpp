// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Unit tasks as the network sees them. A port is what can send one stream of data and receive
// another one at the same time: the network interface of a node, which its ranks share, or a single
// rank inside a node. A port task is an amount of data that has to reach the ports of `receivers`,
// from one or several ports of `senders`.
//
// The algorithms that order a crossing (the other headers of this folder) see only ports and sizes.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/support/scratch.hpp>

namespace ashlar {

struct port_task {
  std::int64_t size = 0;                ///< the number of elements
  std::vector<int> senders, receivers;  ///< ports, ascending; neither is empty
  int unit = 0;                         ///< the unit task to which the data belongs
  std::int64_t begin = 0;               ///< the first element of the data in the unit task
  friend constexpr bool operator==(port_task const&, port_task const&) = default;
};

struct port_problem {
  int ports = 0;
  std::vector<port_task> tasks;

  /// Returns the most elements that one port has to receive.
  constexpr std::int64_t most_received() const {
    scratch<std::int64_t> sums(static_cast<std::size_t>(ports));
    std::int64_t most = 0;
    for (auto const& t : tasks)
      for (int const r : t.receivers) most = std::max(most, sums.data()[r] += t.size);
    return most;
  }
};

}  // namespace ashlar
