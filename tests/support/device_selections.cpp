// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include <support/device_operators.hpp>
#include <support/device_results.hpp>
#include <support/number_comparisons.hpp>

#include <ashlar/tensor/along_dim.hpp>
#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/mean.hpp>
#include <ashlar/tensor/rows.hpp>
#include <ashlar/tensor/where.hpp>

namespace ashlar_test {
namespace {

/// Checks comparisons, extrema, choices between elements, indices of extrema, cumulative sums,
/// conversions, means and rows of tables on every placement.
template <class T>
void check_selections_of(device_mesh const& m, index const& extents) {
  using wider = std::conditional_t<std::is_same_v<T, double>, float, double>;
  dense const x = small_integers(extents, 7), y = small_integers(extents, 8);
  int const rows = extents[0], columns = extents[1];
  dense ids({4}), added({4, columns}, 1);
  std::vector<double> sums = x.values, taken, smaller, larger, means;
  std::vector<double> less, less_equal, equal, chosen, chosen_or, indices, running = x.values;
  for (std::size_t t = 0; t < 4; ++t) ids.values[t] = static_cast<double>(t * t / 4);
  for_each_index({4, columns}, [&](index const& i) {
    index const at{static_cast<int>(ids({i[0]})), i[1]};
    taken.push_back(x(at));
    sums[x.offset(at)] += 1;
  });
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    smaller.push_back(std::min(x.values[i], y.values[i]));
    larger.push_back(std::max(x.values[i], y.values[i]));
    less.push_back(x.values[i] < y.values[i]);
    less_equal.push_back(x.values[i] <= y.values[i]);
    equal.push_back(x.values[i] == y.values[i]);
    chosen.push_back(x.values[i] < y.values[i] ? x.values[i] : y.values[i]);
    chosen_or.push_back(x.values[i] < 0 ? x.values[i] : 2);
    if (i >= static_cast<std::size_t>(columns))
      running[i] += running[i - static_cast<std::size_t>(columns)];
  }
  for (auto row = x.values.begin(); row != x.values.end(); row += columns)
    indices.push_back(static_cast<double>(std::max_element(row, row + columns) - row));
  for (double const v : reduced(x, 0, reduction::sum)) means.push_back(v / rows);
  operator_calls calls;
  auto const all = all_placements(2, m.axes(), {reduction::sum});
  for (auto const& p : all) {
    auto const a = put<T, 2>(m, x, p);
    for_each_number_comparison([&](char const* text, char const*, auto const& compare) {
      calls.check(text, mapped(x.values, [&](double v) { return compare(v, 1); }), 0,
                  [&] { return compare(a, 1); });
    });
    calls.check("max(x, a)", mapped(x.values, [](double v) { return std::max(v, 1.0); }), 0,
                [&] { return max(a, 1); });
    calls.check("min(a, x)", mapped(x.values, [](double v) { return std::min(v, 1.0); }), 0,
                [&] { return min(1, a); });
    calls.check("where(x < 0, x, 2)", chosen_or, 0, [&] { return where(a < 0, a, 2); });
    calls.check("argmax<1>", indices, 0, [&] { return ashlar::argmax<1>(a); });
    calls.check("cumulative_sum<0>", running, 0, [&] { return ashlar::cumulative_sum<0>(a); });
    calls.check("cast", x.values, 0, [&] { return ashlar::cast<wider>(a); });
    calls.check("mean<0>", means, rounding<T>, [&] { return ashlar::mean<0>(a); });
    for (auto const& q : all) {
      auto const b = put<T, 2>(m, y, q);
      calls.check("min(x, y)", smaller, 0, [&] { return min(a, b); });
      calls.check("max(x, y)", larger, 0, [&] { return max(a, b); });
      calls.check("x < y", less, 0, [&] { return a < b; });
      calls.check("y > x", less, 0, [&] { return b > a; });
      calls.check("x <= y", less_equal, 0, [&] { return a <= b; });
      calls.check("y >= x", less_equal, 0, [&] { return b >= a; });
      calls.check("where(x < y, x, y)", chosen, 0, [&] { return where(a < b, a, b); });
      calls.check("equal(x, y)", equal, 0, [&] { return ashlar::equal(a, b); });
    }
    for (auto const& q : all_placements(1, m.axes(), {})) {
      auto const at = put<std::int32_t, 1>(m, ids, q);
      calls.check("take_rows", taken, 0, [&] { return ashlar::take_rows(a, at); });
      for (auto const& r : all)
        calls.check("add_rows", sums, 0,
                    [&] { return ashlar::add_rows(a, at, put<T, 2>(m, added, r)); });
    }
  }
  calls.report();
}

/// Checks that elements of bfloat16 are compared with numbers that are not rounded to bfloat16.
void check_numbers(device_mesh const& m) {
  dense const x = values_next_to_numbers();
  operator_calls calls;
  for (auto const& p : all_placements(2, m.axes(), {})) {
    auto const a = put<ashlar::bfloat16, 2>(m, x, p);
    for (double const number : compared_numbers)
      for_each_number_comparison([&](char const* text, char const*, auto const& compare) {
        calls.check(text, mapped(x.values, [&](double v) { return compare(v, number); }), 0,
                    [&] { return compare(a, number); });
      });
  }
  calls.report();
}

}  // namespace

void check_selections(device_mesh const& m) {
  check_selections_of<float>(m, {5, 6});
  check_selections_of<ashlar::bfloat16>(m, {3, 4});
  check_numbers(m);
}

}  // namespace ashlar_test
