// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The best division of transfers into buckets. The transfers of a bucket begin together, once all
// of them are ready. They keep the link busy for the sum of their seconds plus the largest of their
// latencies. The link carries one bucket at a time.
//
// The transfers are numbered from 0 in the order in which they become ready, and each bucket has
// consecutive transfers. C(j) is the earliest possible end of the first j transfers. Their last
// bucket has the transfers i .. j - 1 for some i, so
//
//   C(j) = min over i < j of  max(C(i), ready of transfer j - 1) + largest latency of i .. j - 1
//                                                                + sum of seconds of i .. j - 1
//
// If all latencies are equal, buckets of transfers that are not consecutive end no earlier. Proof:
// take any buckets, in the order in which the link carries them. Fill them anew with the transfers
// in the order of `ready`, so that each bucket keeps its number of seconds; a transfer that exceeds
// a bucket is cut in two. The new buckets 1 .. j then have the transfers that are ready first. So
// their last transfer is ready no later than the last one of the old buckets 1 .. j, and the new
// bucket j ends no later than the old one. A transfer that was cut can move as a whole to the
// earlier of its two buckets, which waits for this transfer anyway. The earlier bucket then takes
// longer by as many seconds as the next one takes less.

#include <algorithm>
#include <limits>
#include <vector>

#include <ashlar/support/scratch.hpp>

namespace ashlar::search {
inline namespace step {

struct ready_transfer {
  double ready = 0;    ///< the earliest time at which the transfer can begin, in seconds
  double latency = 0;  ///< the latency of the transfer, in seconds
  double seconds = 0;  ///< the seconds of the transfer without the latency
};

/// Returns the ends of the buckets with which the last transfer ends earliest: bucket k has the
/// transfers ends[k - 1] .. ends[k] - 1. If several divisions end equally early, returns one with
/// large buckets. Expects transfers in the order of `ready`. Takes time proportional to the square
/// of their number.
constexpr std::vector<int> bucket_cuts(std::vector<ready_transfer> const& transfers) {
  auto const n = transfers.size();
  // Calls f(i, seconds) for i = j - 1 down to 0. The transfers i .. j - 1 as one bucket take
  // `seconds`.
  auto const for_each_bucket = [&](std::size_t j, auto f) {
    double latency = 0, seconds = 0;
    for (std::size_t i = j; i-- > 0;) {
      latency = std::max(latency, transfers[i].latency);
      seconds += transfers[i].seconds;
      f(i, latency + seconds);
    }
  };
  scratch<double> earliest(n + 1);
  for (std::size_t j = 1; j <= n; ++j) {
    earliest[j] = std::numeric_limits<double>::infinity();
    for_each_bucket(j, [&](std::size_t i, double seconds) {
      double const end = std::max(earliest[i], transfers[j - 1].ready) + seconds;
      earliest[j] = std::min(earliest[j], end);
    });
  }
  // Finds the buckets from the last one back. Each is as large as it can be without ending later
  // than `latest`.
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
