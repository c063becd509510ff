// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches the warm-up depth of each position (warm_up.hpp) for given costs. A micro-batch is in
// flight at position j for L_j seconds, from the begin of its forward pass there to the end of its
// backward pass, with all transfers between. A step at full rate begins one micro-batch per period,
// so position j needs at least L_j / period micro-batches in flight (Little's law). The search begins
// there and changes depths by small amounts, alone or for all positions up to one, as long as the
// step becomes shorter. Then it makes each depth as small as the length permits, since each
// micro-batch in flight costs memory.

#include <cmath>
#include <limits>

#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace ashlar::pipelines {

/// Returns the depths. `costs` and `most` have an entry for each position: the seconds of its stage,
/// and the largest depth that its memory permits.
inline std::vector<int> best_warm_ups(int micro_batches, pipeline_costs const& costs,
                                      std::vector<int> most) {
  auto const s = costs.size();
  // A position with a larger depth than the one before would wait for it for ever.
  for (std::size_t j = 0; j < s; ++j)
    most[j] = std::clamp(most[j], 1, j == 0 ? std::max(1, micro_batches) : most[j - 1]);
  double period = 0, flight = 0;
  for (auto const& c : costs) period = std::max({period, c.all(), c.send_forward, c.send_backward});
  std::vector<int> depths(s, 1);
  for (std::size_t j = s; j-- > 0;) {
    flight += costs[j].all();
    if (j + 1 < s) flight += costs[j].send_forward + costs[j + 1].send_backward;
    double const wanted = period > 0 ? std::ceil(flight / period * (1 - 1e-12)) : 1;
    depths[j] = static_cast<int>(std::clamp(wanted, 1., double(most[j])));
  }
  auto const length = [&](std::vector<int> const& d) {
    auto const t = replay(with_warm_ups(d, micro_batches), costs);
    return t.complete ? t.seconds : std::numeric_limits<double>::infinity();
  };
  double best = length(depths);
  for (bool better = true; better;) {
    better = false;
    for (std::size_t first = 0; first < s; ++first)
      for (std::size_t last = first; last < s; ++last)
        for (int const by : {1, 2, -1}) {
          auto other = depths;
          for (std::size_t j = first; j <= last; ++j)
            other[j] = std::clamp(other[j] + by, 1, most[j]);
          double const now = length(other);
          if (now >= best * (1 - 1e-12)) continue;
          best = now;
          depths = other;
          better = true;
        }
  }
  for (std::size_t j = s; j-- > 0;)
    while (depths[j] > 1) {
      --depths[j];
      if (length(depths) <= best * (1 + 1e-12)) continue;
      ++depths[j];
      break;
    }
  return depths;
}

}  // namespace ashlar::pipelines
