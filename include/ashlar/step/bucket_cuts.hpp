// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The best division of transfers into buckets. The transfers of a bucket begin together, once all of
// them are ready. They keep the link busy for the sum of their seconds and for the largest of their
// latencies. The link carries one bucket at a time.
//
// The best buckets of consecutive transfers, in the order in which they become ready, follow from
// the earliest end C(j) of the first j transfers:
//
//   C(j) = min over i < j of  max(C(i), ready of transfer j - 1) + latency of i .. j - 1
//                                                                + seconds of i .. j - 1
//
// If all latencies are equal, no other division ends earlier. Proof: take any buckets, in the order
// in which the link carries them. Refill them, with the same seconds, in the order of `ready`, and
// cut a transfer in two where a bucket is full. Bucket j then has no transfer that is ready later
// than all those of the old buckets 1 .. j. So it ends no later. A transfer that was cut can move as
// a whole to the earlier one of its two buckets, which waits for it anyway. The end of this bucket
// grows by what the next bucket loses.

#include <algorithm>
#include <limits>
#include <vector>

namespace ashlar::search {
inline namespace step {

struct ready_transfer {
  double ready = 0;    ///< seconds
  double latency = 0;  ///< seconds
  double seconds = 0;  ///< without the latency
};

/// Returns the ends of the buckets with which the last transfer ends earliest: bucket k has the
/// transfers ends[k - 1] .. ends[k] - 1. Of such divisions, this is one with large buckets. Expects
/// transfers in the order of `ready`. Takes time proportional to the square of their number.
constexpr std::vector<int> bucket_cuts(std::vector<ready_transfer> const& transfers) {
  auto const n = transfers.size();
  // Calls f(i, seconds) for each bucket of the transfers i .. j - 1, the smallest first.
  auto const for_each_bucket = [&](std::size_t j, auto f) {
    double latency = 0, seconds = 0;
    for (std::size_t i = j; i-- > 0;) {
      latency = std::max(latency, transfers[i].latency);
      seconds += transfers[i].seconds;
      f(i, latency + seconds);
    }
  };
  std::vector<double> earliest(n + 1);
  for (std::size_t j = 1; j <= n; ++j) {
    earliest[j] = std::numeric_limits<double>::infinity();
    for_each_bucket(j, [&](std::size_t i, double seconds) {
      double const end = std::max(earliest[i], transfers[j - 1].ready) + seconds;
      earliest[j] = std::min(earliest[j], end);
    });
  }
  // From the last bucket back, each one has as much as it can without ending late.
  std::vector<int> ends;
  double latest = earliest[n];
  for (std::size_t j = n; j > 0;) {
    std::size_t begin = j;
    double takes = 0;
    for_each_bucket(j, [&](std::size_t i, double seconds) {
      double const end = std::max(earliest[i], transfers[j - 1].ready) + seconds;
      double const rounding = 1e-12 * latest;
      if (end <= latest + rounding || i + 1 == j) begin = i, takes = seconds;
    });
    ends.push_back(static_cast<int>(j));
    latest -= takes;
    j = begin;
  }
  std::reverse(ends.begin(), ends.end());
  return ends;
}

}  // namespace step
}  // namespace ashlar::search
