// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares kernels with the host's: sums, maxima and minima over one dimension, sums that are added
// to existing values, indices of extrema, cumulative sums, choices between elements, conversions.
// Sums of numbers that are not integers must be equal within rounding, other results exactly.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/comm/arena.hpp>
#include <ashlar/device/host/operations.hpp>

#include "support/kernel_values.hpp"

namespace ashlar_test {

template <class T>
std::vector<T> values_to_reduce(std::int64_t n) {
  std::vector<T> values;
  for (double const v : values_of<double>(n, 7))
    values.push_back(static_cast<T>(std::is_integral_v<T> ? 100 * v : v));
  return values;
}

/// The extents of an array whose middle dim is reduced.
struct reduced_extents {
  std::int64_t outer, extent, inner;
};
inline constexpr reduced_extents cases_of_lines[] = {{1, 0, 1},    {3, 1, 1},   {2, 63, 3},
                                                     {4, 64, 1},   {3, 65, 2},  {2, 9, 40},
                                                     {1, 1000, 1}, {2, 70, 33}, {0, 5, 2}};

template <class T, class Machine>
void check_reduce_dim(Machine& m) {
  using ashlar::reduction;
  ashlar::arena memory;
  for (auto const& s : cases_of_lines)
    for (reduction const op : {reduction::sum, reduction::max, reduction::min}) {
      CAPTURE(s.extent);
      CAPTURE(s.inner);
      auto const x = values_to_reduce<T>(s.outer * s.extent * s.inner);
      std::vector<T> y(size_of(s.outer * s.inner));
      ashlar::device::host::reduce_dim(ashlar::device::host::processor{}, memory, op, x.data(),
                                       s.outer, s.extent, s.inner, y.data());
      auto const on_x = m.upload(x);
      auto on_y = m.template make<T>(s.outer * s.inner);
      reduce_dim(m.queue(), op, on_x.data(), s.outer, s.extent, s.inner, on_y.data());
      if (op != reduction::sum || std::is_integral_v<T>) CHECK(m.download(on_y) == y);
      else CHECK(gap(m.download(on_y), wide(y)) < 2 * tolerance<T>());
    }
}

/// Checks the indices of extrema. Elements repeat. If T is a floating-point type, some elements are
/// NaN.
template <class T, class Machine>
void check_index_of_extremum(Machine& m) {
  using ashlar::reduction;
  for (auto const& s : cases_of_lines)
    for (reduction const op : {reduction::max, reduction::min}) {
      if (s.extent == 0) continue;
      CAPTURE(s.extent);
      CAPTURE(s.inner);
      std::vector<T> x;
      for (double const v : values_of<double>(s.outer * s.extent * s.inner, 5))
        x.push_back(static_cast<T>(std::round(3 * v)));
      if constexpr (!std::is_integral_v<T>)
        for (std::size_t k = x.size() / 3; k < x.size() / 2; k += 7)
          x[k] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      std::vector<std::int32_t> y(size_of(s.outer * s.inner));
      index_of_extremum(ashlar::device::host::processor{}, op, x.data(), s.outer, s.extent, s.inner,
                        y.data());
      auto const on_x = m.upload(x);
      auto on_y = m.template make<std::int32_t>(s.outer * s.inner);
      index_of_extremum(m.queue(), op, on_x.data(), s.outer, s.extent, s.inner, on_y.data());
      CHECK(m.download(on_y) == y);
    }
}

/// Checks cumulative sums from both ends, also in place. In the last case, a line is longer than
/// two tiles of a thread block.
template <class T, class Machine>
void check_cumulative_sum(Machine& m) {
  std::vector<reduced_extents> cases(std::begin(cases_of_lines), std::end(cases_of_lines));
  cases.push_back({2, 5000, 2});
  double const per_element = tolerance<T>() / 100;
  ashlar::arena memory;
  for (auto const& s : cases)
    for (bool const from_end : {false, true}) {
      CAPTURE(s.extent);
      CAPTURE(s.inner);
      auto const x = values_to_reduce<T>(s.outer * s.extent * s.inner);
      std::vector<T> y(x.size());
      cumulative_sum(ashlar::device::host::processor{}, memory, x.data(), s.outer, s.extent,
                     s.inner, from_end, y.data());
      auto on_x = m.upload(x);
      auto on_y = m.template make<T>(s.outer * s.extent * s.inner);
      cumulative_sum(m.queue(), on_x.data(), s.outer, s.extent, s.inner, from_end, on_y.data());
      auto const apart = m.download(on_y);
      if (std::is_integral_v<T>) CHECK(apart == y);
      else CHECK(gap(apart, wide(y)) < 2 * tolerance<T>() + per_element * double(s.extent));
      cumulative_sum(m.queue(), on_x.data(), s.outer, s.extent, s.inner, from_end, on_x.data());
      CHECK(m.download(on_x) == apart);
    }
}

/// Checks choices between two arrays, and between an array and a number, under a mask of type M.
template <class M, class T, class Machine>
void check_select_elements(Machine& m) {
  using operand = ashlar::device::elements_or_number<T>;
  for (std::int64_t const n : {0, 1, 8, 37})
    for (int const skip : {0, 1}) {
      auto const mask = values_to_reduce<M>(n);
      std::vector<M> kept;
      for (std::size_t i = 0; i < mask.size(); ++i) kept.push_back(i % 3 == 0 ? M(0) : mask[i]);
      auto const x = values_to_reduce<T>(n);
      std::vector<T> y(x.rbegin(), x.rend()), both, left, right;
      for (std::size_t i = 0; i < kept.size(); ++i) {
        bool const is_kept = kept[i] != static_cast<M>(0);
        both.push_back(is_kept ? x[i] : y[i]);
        left.push_back(is_kept ? x[i] : static_cast<T>(3));
        right.push_back(is_kept ? static_cast<T>(3) : y[i]);
      }
      auto const on_mask = m.upload(kept, skip);
      auto const on_x = m.upload(x, skip), on_y = m.upload(y, skip);
      operand const in_x{on_x.data()}, in_y{on_y.data()}, number{nullptr, static_cast<T>(3)};
      auto on_z = m.template make<T>(n, skip);
      auto const chosen = [&](operand const& a, operand const& b) {
        select_elements(m.queue(), on_mask.data(), a, b, n, on_z.data());
        return m.download(on_z);
      };
      CHECK(chosen(in_x, in_y) == both);
      CHECK(chosen(in_x, number) == left);
      CHECK(chosen(number, in_y) == right);
    }
}

template <class T, class Machine>
void check_added_sums(Machine& m) {
  for (std::int64_t const n : {0, 1, 7, 1031, 8193}) {
    CAPTURE(n);
    auto const x = values_of<T>(n, 1);
    auto const on_x = m.upload(x, 1);
    auto workspace = m.template make<double>(ashlar::cuda::sum_workspace);
    double sum = 3, squares = -2;
    auto on_sum = m.upload(std::vector<double>{sum}), on_squares = m.upload(std::vector{squares});
    for (T const value : x) {
      auto const v = static_cast<double>(value);
      sum += v;
      squares += v * v;
    }
    add_sum(m.queue(), on_x.data(), n, workspace.data(), on_sum.data());
    add_sum_of_squares(m.queue(), on_x.data(), n, workspace.data(), on_squares.data());
    CHECK(gap(m.download(on_sum), std::vector<double>{sum}) < 1e-11);
    CHECK(gap(m.download(on_squares), std::vector<double>{squares}) < 1e-11);
  }
}

/// Checks conversions of arrays. Each value must be rounded only once. A conversion from double to
/// bfloat16 must not round to float first.
template <class From, class To, class Machine>
void check_conversion(Machine& m) {
  for (std::int64_t const n : {0, 1, 8, 37})
    for (int const skip : {0, 1}) {
      auto const x = values_to_reduce<From>(n);
      std::vector<To> expected;
      for (From const v : x) expected.push_back(static_cast<To>(v));
      auto const on_x = m.upload(x, skip);
      auto on_y = m.template make<To>(n, skip);
      convert(m.queue(), on_x.data(), n, on_y.data());
      CHECK(m.download(on_y) == expected);
    }
}

template <class Machine>
void check_reductions(Machine& m) {
  check_reduce_dim<float>(m);
  check_reduce_dim<double>(m);
  check_reduce_dim<bfloat16>(m);
  check_reduce_dim<std::int32_t>(m);
  check_index_of_extremum<float>(m);
  check_index_of_extremum<bfloat16>(m);
  check_index_of_extremum<std::int64_t>(m);
  check_cumulative_sum<float>(m);
  check_cumulative_sum<double>(m);
  check_cumulative_sum<bfloat16>(m);
  check_cumulative_sum<std::int32_t>(m);
  check_select_elements<float, float>(m);
  check_select_elements<double, bfloat16>(m);
  check_select_elements<std::int32_t, std::int64_t>(m);
  check_added_sums<float>(m);
  check_added_sums<bfloat16>(m);
  check_conversion<double, bfloat16>(m);
  check_conversion<float, double>(m);
  check_conversion<std::int64_t, std::int32_t>(m);
}

}  // namespace ashlar_test
