// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ashlar_test {

/// Advances `digits` to the next list in which digit k is below base(k). The first digit changes
/// fastest. After the last list, sets all digits to 0 and returns false.
template <class Digit, class Base>
bool next_digits(std::vector<Digit>& digits, Base const& base) {
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (++digits[k] < base(k)) return true;
    digits[k] = 0;
  }
  return false;
}

/// Calls f(limits) for each way to cut a net into `stages` stages. `points` are the cutting points
/// of the net. The limits of the stages are some of these points, from 0 to points.back(). Callers
/// leave out the last two arguments, which the recursion uses.
inline void for_each_cut(std::vector<int> const& points, int stages,
                         std::function<void(std::vector<int> const&)> const& f,
                         std::vector<int> const& limits = {0}, std::size_t next = 1) {
  bool const is_last = static_cast<int>(limits.size()) == stages;
  for (; next < points.size(); ++next) {
    if (is_last != (next + 1 == points.size())) continue;
    auto longer = limits;
    longer.push_back(points[next]);
    if (is_last) f(longer);
    else for_each_cut(points, stages, f, longer, next + 1);
  }
}

/// Calls f(depths) for each list of warm-up depths in which no position has a larger depth than the
/// position before it. `most` is the largest depth.
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
