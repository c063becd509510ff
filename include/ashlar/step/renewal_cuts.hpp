// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Divides renewed parameters into buckets. A renewed parameter is one that is redistributed, after
// its update, to the placement at which it is stored. Here these redistributions run during the
// next forward pass. All parameters are ready at time 0. A link carries the buckets one after
// another, in the order in which the pass first uses the parameters, and the pass waits for each
// parameter before its first use. Each bucket costs one latency. So many small buckets arrive late,
// whereas a large bucket makes the pass wait until all its parameters have arrived.
//
// If bucket k ends with parameter j, it arrives at
//
//   A(j, k) = k * latency + seconds of parameters 1 .. j
//
// and the computations that need no later parameter end at
//
//   F(j, k) = min over i < j of  max(F(i, k - 1), A(j, k)) + work of i + 1 .. j
//
// where the work of i is the computation between the first uses of parameters i and i + 1. With n
// parameters, the pass ends at the least F(n, k) over all k. No division into buckets of
// consecutive parameters is faster.

#include <algorithm>
#include <limits>
#include <vector>

namespace ashlar::search {
inline namespace step {

struct renewed_parameter {
  double seconds = 0;  ///< seconds of its transfer, without the latency
  double work = 0;     ///< seconds of computation from its first use to that of the next parameter
};

struct renewal_division {
  std::vector<int> ends;  ///< bucket k has the parameters ends[k - 1] .. ends[k] - 1
  double seconds = 0;     ///< when the last computation ends
};

/// Returns the buckets with which the forward pass ends earliest; among equally good divisions, the
/// one with the fewest buckets. Expects parameters in the order of their first use. `latency` is
/// the latency of one bucket in seconds. The run time is at most cubic in the number of parameters.
constexpr renewal_division renewal_cuts(std::vector<renewed_parameter> const& parameters,
                                        double latency) {
  auto const n = parameters.size();
  renewal_division best;
  if (n == 0) return best;
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> arrived(n + 1, 0), worked(n + 1, 0);  // [j]: sums over the first j parameters
  for (std::size_t j = 0; j < n; ++j) {
    arrived[j + 1] = arrived[j] + parameters[j].seconds;
    worked[j + 1] = worked[j] + parameters[j].work;
  }
  best.seconds = never;
  std::vector<double> before(n + 1, never);  // F(., k - 1)
  before[0] = 0;
  std::vector<std::vector<int>> begins;  // [k - 1][j]: where bucket k begins if it ends before j
  std::size_t buckets = 0;
  for (std::size_t k = 1; k <= n; ++k) {
    double const sent = double(k) * latency;
    // The pass cannot end before all k buckets have arrived, and more buckets arrive even later.
    if (sent + arrived[n] + parameters[n - 1].work >= best.seconds) break;
    std::vector<double> now(n + 1, never);
    begins.emplace_back(n + 1, -1);
    for (std::size_t j = k; j <= n; ++j)
      for (std::size_t i = k - 1; i < j; ++i) {
        double const end = std::max(before[i], sent + arrived[j]) + (worked[j] - worked[i]);
        if (end >= now[j]) continue;
        now[j] = end;
        begins.back()[j] = static_cast<int>(i);
      }
    if (now[n] < best.seconds) {
      best.seconds = now[n];
      buckets = k;
    }
    before = now;
  }
  for (std::size_t j = n, k = buckets; k > 0; --k) {
    best.ends.push_back(static_cast<int>(j));
    j = static_cast<std::size_t>(begins[k - 1][j]);
  }
  std::reverse(best.ends.begin(), best.ends.end());
  return best;
}

}  // namespace step
}  // namespace ashlar::search
