// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The seconds of a crossing, and the number K of chunks for which they are least. A crossing has
// two stages, and chunks flow through both: first between nodes, then among the ranks of each node.
// In one period, a chunk moves on by one hop. A period of a stage takes a + b / K seconds: a is the
// latency of its messages, and b / K the time to transfer a chunk. The longer period sets the pace:
//
//   seconds = (K - 1) max(p, q) + g p + h q
//
//   p, q   the periods of the stages between nodes and inside a node
//   g, h   the hops of the longest chain of ports in these stages
//
// With only one stage, the formula is (K + hops - 1) (a + b / K). Its value is least for the
// smallest K that satisfies K (K + 1) >= (hops - 1) b / a.

#include <algorithm>
#include <cstdint>

namespace ashlar {

/// One stage of a crossing: the hops of its longest chain of ports, and the terms a and b of its
/// period a + b / K, in seconds.
struct crossing_stage {
  int hops = 0;
  double latency = 0;   ///< the term a
  double transfer = 0;  ///< the term b

  constexpr double period(int chunks) const { return latency + transfer / chunks; }
};

constexpr double crossing_seconds(crossing_stage const& between, crossing_stage const& inside,
                                  int chunks) {
  double const one = between.period(chunks), other = inside.period(chunks);
  return (chunks - 1) * std::max(one, other) + between.hops * one + inside.hops * other;
}

namespace detail {

/// Returns the least k of 1 .. most with k (k + 1) >= x, or `most`. Expects x >= 0.
constexpr int least_product(double x, int most) {
  if (x > double(most) * most) return most;
  if (x <= 2) return 1;
  double root = x;
  for (double last = 2 * x; last - root > 0.25;) {  // Newton's method for sqrt(x)
    last = root;
    root = (root + x / root) / 2;
  }
  int k = root > 2 ? static_cast<int>(root) - 1 : 1;
  while (k < most && double(k) * (k + 1) < x) ++k;
  return k;
}

}  // namespace detail

/// Returns the number of chunks, at most `most`, for which crossing_seconds is least. The result is
/// exact if the same stage sets the pace for all numbers of chunks. Otherwise the seconds are
/// nearly the least.
constexpr int best_chunks(crossing_stage const& between, crossing_stage const& inside, int most) {
  int best = 1;
  auto const attempt = [&](int k) {
    if (crossing_seconds(between, inside, k) < crossing_seconds(between, inside, best)) best = k;
  };
  // At the number of chunks for which both periods are equal, the stage that sets the pace changes.
  // So the two whole numbers next to this number are candidates.
  double const equal = between.latency == inside.latency ? 0
                                                         : (between.transfer - inside.transfer) /
                                                               (inside.latency - between.latency);
  if (equal >= 1 && equal < most) {
    attempt(static_cast<int>(equal));
    attempt(static_cast<int>(equal) + 1);
  }
  for (auto const* slow : {&between, &inside}) {
    double const filling = between.hops * between.transfer + inside.hops * inside.transfer -
                           slow->transfer;
    if (slow->hops == 0 || filling <= 0) continue;
    int const k = slow->latency > 0 ? detail::least_product(filling / slow->latency, most) : most;
    attempt(k);
  }
  return best;
}

}  // namespace ashlar
