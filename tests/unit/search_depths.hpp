// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace ashlar_test {

/// Calls f for each list of warm-up depths that no later position exceeds.
inline void for_each_depths(int positions, int most, std::vector<int> depths,
                            std::function<void(std::vector<int> const&)> const& f) {
  if (static_cast<int>(depths.size()) == positions) return f(depths);
  for (int d = 1; d <= most; ++d) {
    auto longer = depths;
    longer.push_back(d);
    for_each_depths(positions, d, longer, f);
  }
}

}  // namespace ashlar_test
