// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>
#include <support/combinations.hpp>

#include <ashlar/device/host/gemm.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;
using ashlar_test::all_combinations;

namespace {

template <class T>
void check_product(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k,
                   std::int64_t pad) {
  std::int64_t const lda = (ta ? m : k) + pad;
  std::int64_t const ldb = (tb ? k : n) + pad;
  std::int64_t const ldc = n + pad;
  auto const a = normals<T>((ta ? k : m) * lda, 1);
  auto const b = normals<T>((tb ? n : k) * ldb, 2);
  auto c = normals<T>(m * ldc, 3);
  auto expected = c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(a[size_of(ta ? l * lda + i : i * lda + l)]) *
               static_cast<double>(b[size_of(tb ? j * ldb + l : l * ldb + j)]);
      }
      T& target = expected[size_of(i * ldc + j)];
      target = static_cast<T>(0.5 * sum) + T(2) * target;
    }
  }
  host::gemm(ta, tb, m, n, k, T(0.5), a.data(), lda, b.data(), ldb, T(2), c.data(), ldc);
  CHECK(distance(c, expected) < (sizeof(T) == 4 ? 1e-5 : 1e-13));
}

}  // namespace

TEST_CASE_TEMPLATE("gemm_equals_the_triple_loop_for_all_transpositions", T, float, double) {
  for (auto const& [ta, tb, pad] : all_combinations({false, true}, {false, true}, {0, 3})) {
    check_product<T>(ta, tb, 7, 5, 9, pad);
    check_product<T>(ta, tb, 1, 33, 2, pad);
    check_product<T>(ta, tb, 0, 4, 3, pad);
    check_product<T>(ta, tb, 4, 0, 3, pad);
    check_product<T>(ta, tb, 4, 3, 0, pad);
  }
}

namespace {

using ashlar::bfloat16;

/// Returns integers in [-4, 4]. All sums of their products in these tests are exact in float.
std::vector<bfloat16> small_integers(std::int64_t n, std::uint64_t stream) {
  std::vector<bfloat16> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.emplace_back(ashlar::device::random_word(5, stream, static_cast<std::uint64_t>(i)) % 9 -
                        4.0);
  return values;
}

void check_rounded_product(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k,
                           std::int64_t pad, float beta) {
  std::int64_t const lda = (ta ? m : k) + pad, ldb = (tb ? k : n) + pad, ldc = n + pad;
  auto const a = small_integers((ta ? k : m) * lda, 1);
  auto const b = small_integers((tb ? n : k) * ldb, 2);
  auto c = small_integers(m * ldc, 3);
  if (beta == 0)
    for (auto& value : c) value = std::numeric_limits<bfloat16>::quiet_NaN();
  auto expected = c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(a[size_of(ta ? l * lda + i : i * lda + l)]) *
               static_cast<double>(b[size_of(tb ? j * ldb + l : l * ldb + j)]);
      auto& target = expected[size_of(i * ldc + j)];
      double const kept = beta == 0 ? 0 : beta * static_cast<double>(target);
      target = bfloat16(0.5 * sum + kept);
    }
  }
  host::gemm(ta, tb, m, n, k, 0.5f, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  std::size_t different = 0;
  for (std::size_t i = 0; i < c.size(); ++i) different += c[i].bits() != expected[i].bits();
  CHECK(different == 0);
}

}  // namespace

TEST_CASE("gemm_of_bfloat16_is_the_exact_product_rounded_once") {
  for (auto const& [ta, tb, beta, pad] :
       all_combinations({false, true}, {false, true}, {0.0f, 1.0f, -0.5f}, {0, 3})) {
    check_rounded_product(ta, tb, 7, 5, 300, pad, beta);
    check_rounded_product(ta, tb, 1, 33, 2, pad, beta);
    check_rounded_product(ta, tb, 0, 4, 3, pad, beta);
    check_rounded_product(ta, tb, 4, 3, 0, pad, beta);
  }
  // One extent of each product is larger than a block, which has the extent 512.
  check_rounded_product(false, true, 513, 3, 5, 1, 1.0f);
  check_rounded_product(true, false, 3, 515, 5, 0, 0.0f);
  check_rounded_product(true, true, 3, 5, 1030, 0, -0.5f);
}

TEST_CASE("gemm_of_bfloat16_accumulates_in_float") {
  // In bfloat16, 256 + 1 rounds back to 256, so rounding intermediate sums would lose every addend
  // of 1.
  std::vector<bfloat16> const a(600, bfloat16(1.0f));
  std::vector<bfloat16> b(600, bfloat16(1.0f));
  b[0] = bfloat16(256.0f);
  bfloat16 c{};
  host::gemm_batched_strided(false, false, 1, 1, 1, 600, 1.0f, a.data(), 600, 0, b.data(), 1, 0,
                             0.0f, &c, 1, 1);
  CHECK(static_cast<float>(c) == 856.0f);  // this is 855, rounded to a multiple of 4
}

TEST_CASE("gemm_without_an_inner_dimension_clears_even_nan_when_beta_is_zero") {
  std::vector<float> c(6, std::numeric_limits<float>::quiet_NaN());
  float const* const none = nullptr;
  host::gemm(false, false, 2, 3, 0, 1.0f, none, 0, none, 3, 0.0f, c.data(), 3);
  CHECK(c == std::vector<float>(6, 0.0f));
}

TEST_CASE("gemm_refuses_extents_that_a_32_bit_blas_cannot_count") {
  std::int64_t const huge = std::int64_t{1} << 31;
  double value = 0;
  CHECK_THROWS_AS(
      host::gemm(false, false, 0, 1, huge, 1.0, &value, huge, &value, 1, 0.0, &value, 1),
      std::overflow_error);
  CHECK_THROWS_AS(host::gemm(false, false, -1, 1, 1, 1.0, &value, 1, &value, 1, 0.0, &value, 1),
                  std::overflow_error);
}

TEST_CASE("gemm_batched_strided_shares_an_operand_of_stride_zero") {
  auto const a = normals<double>(3 * 2 * 4, 1);
  auto const b = normals<double>(4 * 5, 2);
  std::vector<double> c(3 * 2 * 5);
  std::vector<double> expected(c);
  host::gemm_batched_strided(false, false, 3, 2, 5, 4, 1.0, a.data(), 4, 8, b.data(), 5, 0, 0.0,
                             c.data(), 5, 10);
  host::gemm(false, false, 6, 5, 4, 1.0, a.data(), 4, b.data(), 5, 0.0, expected.data(), 5);
  CHECK(distance(c, expected) < 1e-14);
}
