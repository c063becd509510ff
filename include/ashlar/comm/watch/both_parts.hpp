// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The numbers in a flight record of pairs of parts of a mesh, so that a crossing between two parts
// is an operation of the ranks of both. A pair is registered when its first crossing begins.

#include <algorithm>
#include <map>
#include <vector>

#include <ashlar/comm/watch/flight_record.hpp>
#include <ashlar/mesh/mesh_part.hpp>

namespace ashlar::watch {

class both_parts {
 public:
  /// Returns the number of the parts `a` and `b` together. This rank, a member of one of them, is
  /// rank `rank` of the whole mesh.
  int number(flight_record& record, mesh_part const& a, mesh_part const& b, int rank) {
    auto ranks = a.ranks;
    ranks.insert(ranks.end(), b.ranks.begin(), b.ranks.end());
    std::sort(ranks.begin(), ranks.end());
    auto const found = numbers_.find(ranks);
    if (found != numbers_.end()) return found->second;
    auto const here = std::find(ranks.begin(), ranks.end(), rank);
    int const made = record.add_part({{"rank", static_cast<int>(ranks.size())}}, ranks,
                                     static_cast<int>(here - ranks.begin()));
    return numbers_[ranks] = made;
  }

 private:
  std::map<std::vector<int>, int> numbers_;  // by the ranks of both parts
};

}  // namespace ashlar::watch
