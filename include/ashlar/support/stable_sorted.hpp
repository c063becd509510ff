// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A stable sort. It compiles faster than std::stable_sort. The temporary buffer of std::stable_sort
// also uses a deprecated function of the standard library.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

/// Returns the elements of `list`, sorted. Elements of which neither is less than the other keep
/// their order.
template <class T, class Less>
std::vector<T> stable_sorted(std::vector<T> list, Less less) {
  std::vector<std::size_t> order(list.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (less(list[a], list[b])) return true;
    return a < b && !less(list[b], list[a]);
  });
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (std::size_t const i : order) sorted.push_back(std::move(list[i]));
  return sorted;
}

}  // namespace ashlar
