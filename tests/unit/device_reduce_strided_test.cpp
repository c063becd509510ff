// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>
#include <support/combinations.hpp>

#include <ashlar/device/host/reduce_strided.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;
using ashlar::bfloat16;
using ashlar::reduction;
using ashlar_test::all_combinations;
using extents = std::vector<std::int64_t>;

namespace {

template <class T>
T value_at(std::int64_t i, std::size_t source) {
  double const z = ashlar::device::normal<double>(3, source, i);
  if constexpr (std::is_integral_v<T>) return static_cast<T>(z * 1e9);
  else return T(z);
}

/// Reduces `values` in their order. The sum is volatile, so that no compiler keeps excess
/// precision.
template <class T>
T folded(reduction op, std::vector<T> const& values) {
  using A = ashlar::accumulation_t<T>;
  auto volatile sum = static_cast<A>(values[0]);
  for (std::size_t s = 1; s < values.size(); ++s) {
    auto const a = sum, b = static_cast<A>(values[s]);
    if (op == reduction::max) sum = a < b ? b : a;
    else if (op == reduction::min) sum = b < a ? b : a;
    else if constexpr (std::is_integral_v<A>)
      sum = static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else sum = a + b;
  }
  A const result = sum;
  return static_cast<T>(result);
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Reduces `count` source blocks into a result block, and compares every byte of the result,
/// including the gaps between its rows. `pad` adds gaps between the rows of the sources and of the
/// result. `shift` misaligns the result for vector instructions.
template <class T>
void check(reduction op, std::size_t count, extents const& e, std::int64_t pad, std::int64_t shift,
           bool transposed = false) {
  auto const rank = e.size();
  extents from(rank), to(rank);
  std::int64_t from_size = 1, to_size = 1;
  for (std::size_t d = rank; d-- > 0;) {
    from[d] = from_size;
    from_size *= e[d] + pad;
    std::size_t const other = transposed ? rank - 1 - d : d;
    to[other] = to_size;
    to_size *= e[other] + 2 * pad;
  }
  std::vector<std::vector<T>> sources(count);
  std::vector<T const*> pointers;
  for (std::size_t s = 0; s < count; ++s) {
    for (std::int64_t i = 0; i < from_size + 1; ++i) sources[s].push_back(value_at<T>(i, s));
    pointers.push_back(sources[s].data() + s % 2);
  }
  std::vector<T> result(size_of(to_size + shift), T(7));
  auto expected = result;
  std::int64_t total = 1;
  for (auto const n : e) total *= n;
  for (std::int64_t flat = 0; flat < total; ++flat) {
    std::int64_t rest = flat, at = 0, target = 0;
    for (std::size_t d = rank; d-- > 0; rest /= e[d]) {
      at += rest % e[d] * from[d];
      target += rest % e[d] * to[d];
    }
    std::vector<T> values;
    for (auto const* p : pointers) values.push_back(p[at]);
    expected[size_of(target + shift)] = folded(op, values);
  }
  host::reduce_strided<T>(op, static_cast<int>(rank), e.data(), pointers, from.data(),
                          result.data() + shift, to.data());
  CHECK(same_bits(result, expected));
}

}  // namespace

TEST_CASE_TEMPLATE("reductions_equal_the_left_to_right_fold_bit_for_bit", T, float, double,
                   bfloat16, std::int32_t, std::int64_t) {
  for (auto const& [op, count, pad] :
       all_combinations({reduction::sum, reduction::max, reduction::min},
                        {1u, 2u, 3u, 4u, 5u, 8u, 17u}, {0, 1})) {
    check<T>(op, count, {}, pad, 0);
    for (std::int64_t const n : {0, 1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 257})
      check<T>(op, count, {n}, pad, pad);
    check<T>(op, count, {3, 0}, pad, 1);
    check<T>(op, count, {5, 1, 67}, pad, 3);
    check<T>(op, count, {2, 5, 3}, pad, 0);
    check<T>(op, count, {6, 35}, pad, 1, true);
  }
}

TEST_CASE_TEMPLATE("large_results_have_the_same_bits_as_small_ones", T, float, bfloat16) {
  // The sources and the result together exceed the size from which stores bypass the cache. The
  // rows of the result begin and end at misaligned addresses.
  std::int64_t const columns = 2003, rows = host::stream_from / 4 / 4 / columns + 1;
  for (std::int64_t const shift : {0, 1, 5})
    check<T>(reduction::sum, 3, {rows * std::int64_t{4 / sizeof(T)}, columns}, 3, shift);
}

TEST_CASE_TEMPLATE("the_result_may_be_one_of_the_sources", T, float, bfloat16, std::int64_t) {
  std::int64_t const n = 1003, size[] = {n}, strides[] = {1};
  for (std::size_t const target : {0u, 1u, 2u}) {
    std::vector<std::vector<T>> sources(3);
    std::vector<T> expected;
    for (std::size_t s = 0; s < 3; ++s)
      for (std::int64_t i = 0; i < n; ++i) sources[s].push_back(value_at<T>(i, s));
    for (std::size_t i = 0; i < size_of(n); ++i)
      expected.push_back(folded<T>(reduction::sum, {sources[0][i], sources[1][i], sources[2][i]}));
    std::vector<T const*> const pointers{sources[0].data(), sources[1].data(), sources[2].data()};
    host::reduce_strided<T>(reduction::sum, 1, size, pointers, strides, sources[target].data(),
                            strides);
    CHECK(same_bits(sources[target], expected));
  }
}

TEST_CASE("a_sum_of_bfloat16_is_rounded_once") {
  // In bfloat16, 256 + 1 is a tie that rounds back to 256, so rounding at each step would lose
  // every addend of 1.
  std::int64_t const size[] = {40}, strides[] = {1};
  std::vector<bfloat16> const big(40, bfloat16(256.0f)), one(40, bfloat16(1.0f));
  std::vector<bfloat16 const*> pointers(9, one.data());
  pointers[0] = big.data();
  std::vector<bfloat16> result(40);
  host::reduce_strided<bfloat16>(reduction::sum, 1, size, pointers, strides, result.data(),
                                 strides);
  CHECK(result == std::vector<bfloat16>(40, bfloat16(264.0f)));
}

TEST_CASE_TEMPLATE("maxima_and_minima_pass_nan_on_and_keep_the_first_of_equals", T, float, double,
                   bfloat16) {
  T const nan = std::numeric_limits<T>::quiet_NaN();
  std::int64_t const n = 133, size[] = {n}, strides[] = {1};
  for (auto const op : {reduction::max, reduction::min})
    for (std::size_t const where : {0u, 1u, 2u}) {
      std::vector<std::vector<T>> sources(3, std::vector<T>(size_of(n), T(1.0f)));
      sources[where].assign(size_of(n), nan);
      std::vector<T const*> pointers{sources[0].data(), sources[1].data(), sources[2].data()};
      std::vector<T> result(size_of(n));
      host::reduce_strided<T>(op, 1, size, pointers, strides, result.data(), strides);
      for (T const value : result) CHECK(value != value);
      sources[0].assign(size_of(n), T(-0.0f));
      sources[1].assign(size_of(n), T(0.0f));
      sources[2].assign(size_of(n), T(0.0f));
      host::reduce_strided<T>(op, 1, size, pointers, strides, result.data(), strides);
      CHECK(same_bits(result, sources[0]));
    }
}

TEST_CASE("integer_sums_wrap_around") {
  std::int64_t const n = 40, size[] = {n}, strides[] = {1};
  std::vector<std::int32_t> const top(40, std::numeric_limits<std::int32_t>::max()), one(40, 1);
  std::vector<std::int32_t const*> const pointers{top.data(), one.data()};
  std::vector<std::int32_t> result(40);
  host::reduce_strided<std::int32_t>(reduction::sum, 1, size, pointers, strides, result.data(),
                                     strides);
  CHECK(result == std::vector<std::int32_t>(40, std::numeric_limits<std::int32_t>::min()));
}

TEST_CASE("a_reduction_without_sources_is_refused") {
  float result = 0;
  CHECK_THROWS_AS(
      host::reduce_strided<float>(reduction::sum, 0, nullptr, {}, nullptr, &result, nullptr),
      std::invalid_argument);
}

TEST_CASE("a_reduction_of_nine_dims_is_refused_for_one_source_in_place_too") {
  float value = 0;
  std::vector<float const*> const source{&value};
  std::vector<std::int64_t> const nine(9, 1);
  CHECK_THROWS_AS(host::reduce_strided<float>(reduction::sum, 9, nine.data(), source, nine.data(),
                                              &value, nine.data()),
                  std::invalid_argument);
}
