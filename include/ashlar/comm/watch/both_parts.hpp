// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Registers pairs of parts of a mesh in a flight record. The record treats a crossing between two
// parts as an operation of a third part, which has the ranks of both. A pair is registered when its
// first crossing begins.

#include <algorithm>
#include <vector>

#include <ashlar/comm/watch/flight_record.hpp>
#include <ashlar/mesh/mesh_part.hpp>

namespace ashlar::watch {

class both_parts {
 public:
  /// Returns the number under which the flight record has the ranks of parts `a` and `b` together.
  /// The first call registers these ranks in the record. `rank` is the number of this rank on the
  /// whole mesh; the rank is a member of `a` or of `b`.
  int number(flight_record& record, mesh_part const& a, mesh_part const& b, int rank) {
    for (auto const& p : pairs_)
      if ((p.first == a.ranks && p.second == b.ranks) ||
          (p.first == b.ranks && p.second == a.ranks))
        return p.number;
    auto ranks = a.ranks;
    ranks.insert(ranks.end(), b.ranks.begin(), b.ranks.end());
    std::sort(ranks.begin(), ranks.end());
    auto const here = std::find(ranks.begin(), ranks.end(), rank);
    int const number = record.add_part({{"rank", static_cast<int>(ranks.size())}}, ranks,
                                       static_cast<int>(here - ranks.begin()));
    pairs_.push_back({a.ranks, b.ranks, number});
    return number;
  }

 private:
  struct pair {
    std::vector<int> first, second;  ///< the ranks of two parts
    int number;
  };
  std::vector<pair> pairs_;
};

}  // namespace ashlar::watch
