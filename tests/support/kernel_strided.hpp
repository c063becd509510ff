// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares the results of strided copies and reductions with the host's results, bit for bit. Also
// checks that the kernels write no other element of the destination. The cases include rows,
// slices, transpositions, broadcasts, and gaps between elements.

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/reduce_strided.hpp>
#include <ashlar/device/host/strided_copy.hpp>

#include "support/kernel_values.hpp"

namespace ashlar_test {

struct strided_case {
  int rank;
  std::int64_t extents[4], from[4], to[4];
  int skip_from, skip_to;
};

inline constexpr strided_case strided_cases[] = {
    {0, {}, {}, {}, 0, 0},
    {1, {0}, {1}, {1}, 0, 0},
    {1, {1}, {5}, {3}, 0, 0},
    {1, {100}, {1}, {1}, 0, 0},
    {1, {64}, {1}, {1}, 0, 1},              // the destination is not aligned to 16 bytes
    {2, {5, 16}, {24, 1}, {16, 1}, 8, 0},   // lengths and strides divisible by 8
    {2, {5, 12}, {20, 1}, {12, 1}, 4, 0},   // lengths and strides divisible by 4
    {2, {5, 7}, {9, 1}, {7, 1}, 1, 0},      // odd lengths and strides
    {2, {40, 35}, {1, 41}, {36, 1}, 0, 0},  // a transposition with partial tiles
    {2, {32, 64}, {1, 32}, {64, 1}, 0, 0},  // a transposition of whole tiles
    {2, {40, 70}, {1, 42}, {72, 1}, 0, 0},  // a transposition by pairs of elements
    {2, {40, 70}, {1, 42}, {72, 1}, 1, 0},  // by pairs, and the source begins at an odd element
    {3, {4, 130, 6}, {1200, 1, 200}, {800, 6, 1}, 2, 2},  // planes by pairs, with a partial tile
    {2, {6, 8}, {0, 1}, {8, 1}, 0, 0},                    // every row is a copy of one row
    {2, {6, 8}, {1, 0}, {8, 1}, 0, 0},                    // every column is a copy of one column
    {2, {9, 5}, {10, 2}, {15, 3}, 0, 0},                  // nothing contiguous
    {3, {3, 4, 16}, {128, 32, 1}, {16, 48, 1}, 0, 0},     // outer dimensions swapped
    {3, {3, 33, 20}, {700, 1, 35}, {660, 20, 1}, 0, 0},   // one transposed plane per batch index
    {4, {2, 3, 4, 8}, {96, 8, 24, 1}, {96, 32, 8, 1}, 0, 0},  // heads and tokens swapped
};

/// Returns the smallest size of an array that contains all elements at these extents and strides.
inline std::int64_t span_of(int rank, std::int64_t const* extents, std::int64_t const* strides) {
  std::int64_t last = 0;
  for (int d = 0; d < rank; ++d) {
    if (extents[d] == 0) return 0;
    last += (extents[d] - 1) * strides[d];
  }
  return last + 1;
}

/// Returns n elements, each with the value of its index modulo 120.
template <class T>
std::vector<T> numbered(std::int64_t n) {
  std::vector<T> values(size_of(n));
  for (std::int64_t i = 0; i < n; ++i) values[size_of(i)] = static_cast<T>(i % 120);
  return values;
}

template <class T, class Machine>
void check_strided_copy(Machine& m) {
  for (strided_case const& c : strided_cases) {
    CAPTURE(c.rank);
    CAPTURE(c.extents[0]);
    auto const src = numbered<T>(span_of(c.rank, c.extents, c.from));
    std::vector<T> dst(size_of(span_of(c.rank, c.extents, c.to) + 3), static_cast<T>(121));
    auto const on_src = m.upload(src, c.skip_from);
    auto on_dst = m.upload(dst, c.skip_to);
    copy_strided(m.queue(), c.rank, c.extents, on_src.data(), c.from, on_dst.data(), c.to);
    ashlar::device::host::copy_strided(c.rank, c.extents, src.data(), c.from, dst.data(), c.to);
    CHECK(m.download(on_dst) == dst);
  }
}

template <class T, class Machine>
void check_strided_reduction(Machine& m) {
  using ashlar::reduction;
  for (strided_case const& c : strided_cases) {
    CAPTURE(c.rank);
    CAPTURE(c.extents[0]);
    std::int64_t const n = span_of(c.rank, c.extents, c.from);
    std::vector<std::vector<T>> values;
    for (int s = 0; s < 5; ++s) {
      // The sources are normal deviates rounded to T. Integers are 100 times such a deviate,
      // truncated.
      std::vector<T> source;
      for (double const v : values_of<double>(n, static_cast<std::uint64_t>(s)))
        source.push_back(static_cast<T>(std::is_integral_v<T> ? 100 * v : v));
      values.push_back(source);
    }
    std::vector<decltype(m.upload(values[0], 0))> on_values;
    std::vector<T const*> sources, on_sources;
    for (auto const& v : values) {
      sources.push_back(v.data());
      on_values.push_back(m.upload(v, c.skip_from));
    }
    for (auto const& v : on_values) on_sources.push_back(v.data());
    for (reduction const op : {reduction::sum, reduction::max, reduction::min}) {
      for (std::size_t const count : {std::size_t(1), std::size_t(2), std::size_t(5)}) {
        std::vector<T> dst(size_of(span_of(c.rank, c.extents, c.to) + 3), static_cast<T>(7));
        auto on_dst = m.upload(dst, c.skip_to);
        reduce_strided(m.queue(), op, c.rank, c.extents,
                       std::span<T const* const>(on_sources).first(count), c.from, on_dst.data(),
                       c.to);
        ashlar::device::host::reduce_strided(op, c.rank, c.extents,
                                             std::span<T const* const>(sources).first(count),
                                             c.from, dst.data(), c.to);
        CHECK(m.download(on_dst) == dst);
      }
    }
    // In place: the destination is one of the sources.
    auto in_place = m.upload(values[0], c.skip_from);
    T const* const both[] = {in_place.data(), on_sources[1]};
    reduce_strided(m.queue(), reduction::sum, c.rank, c.extents, std::span<T const* const>(both),
                   c.from, in_place.data(), c.from);
    // Compares the results only if no source stride is 0. With a stride of 0, one element would be
    // updated several times.
    if (std::find(c.from, c.from + c.rank, 0) == c.from + c.rank) {
      auto expected = values[0];
      T const* const host_both[] = {expected.data(), sources[1]};
      ashlar::device::host::reduce_strided(reduction::sum, c.rank, c.extents,
                                           std::span<T const* const>(host_both), c.from,
                                           expected.data(), c.from);
      CHECK(m.download(in_place) == expected);
    }
  }
  std::vector<T const*> const none, many(129);
  std::int64_t const one = 1;
  auto dst = m.template make<T>(1);
  for (auto const* list : {&none, &many})
    CHECK_THROWS_AS(reduce_strided(m.queue(), reduction::sum, 1, &one,
                                   std::span<T const* const>(*list), &one, dst.data(), &one),
                    std::invalid_argument);
}

}  // namespace ashlar_test
