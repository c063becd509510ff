// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Enumerates the combinations of test parameters, so that one loop can replace several nested
// loops.

#include <initializer_list>
#include <tuple>
#include <vector>

#include <range/v3/range/traits.hpp>
#include <range/v3/view/cartesian_product.hpp>

namespace ashlar_test {

/// Returns all combinations of one element of each list, in the order of nested loops: the last
/// list is the innermost loop.
template <class... Lists>
auto all_combinations(Lists const&... lists) {
  std::vector<std::tuple<ranges::range_value_t<Lists const>...>> all;
  for (auto const& each : ranges::views::cartesian_product(lists...)) all.emplace_back(each);
  return all;
}
/// Overload for lists in braces, as in `all_combinations({false, true}, {1, 2, 5})`.
template <class... T>
auto all_combinations(std::initializer_list<T>... lists) {
  return all_combinations(std::vector<T>(lists)...);
}

}  // namespace ashlar_test
