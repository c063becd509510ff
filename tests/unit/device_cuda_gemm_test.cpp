// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests how a row-major product is expressed for a library that supports only column-major arrays.
// A naive column-major product with the computed layout must equal the host's gemm.

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>
#include <support/combinations.hpp>

#include <ashlar/device/cuda/gemm_layout.hpp>
#include <ashlar/device/host/gemm.hpp>

#include "device_reference.hpp"

using ashlar::test::size_of;
using ashlar_test::all_combinations;

namespace {

/// Returns an element of a column-major array, or of its transpose if `transposed` is true.
double element(double const* array, ashlar::cuda::column_major const& shape, bool transposed,
               std::int64_t row, std::int64_t column) {
  std::int64_t const r = transposed ? column : row, c = transposed ? row : column;
  REQUIRE(r < shape.rows);
  REQUIRE(c < shape.columns);
  REQUIRE(shape.leading >= shape.rows);
  return array[r + c * shape.leading];
}

}  // namespace

TEST_CASE("the_layout_of_a_product_is_that_of_its_transpose") {
  std::int64_t const m = 3, n = 4, k = 5;
  for (auto const& [transpose_a, transpose_b] : all_combinations({false, true}, {false, true})) {
    std::int64_t const lda = (transpose_a ? m : k) + 2, ldb = (transpose_b ? k : n) + 1,
                       ldc = n + 3;
    auto const a = ashlar::test::normals<double>((transpose_a ? k : m) * lda, 1);
    auto const b = ashlar::test::normals<double>((transpose_b ? n : k) * ldb, 2);
    std::vector<double> expected(size_of(m * ldc)), actual(size_of(m * ldc));
    ashlar::device::host::gemm(transpose_a, transpose_b, m, n, k, 1.0, a.data(), lda, b.data(), ldb,
                               0.0, expected.data(), ldc);

    ashlar::cuda::gemm_layout const layout(transpose_a, transpose_b, m, n, k, lda, ldb, ldc);
    CHECK(layout.result.rows == n);
    CHECK(layout.result.columns == m);
    for (std::int64_t r = 0; r < layout.result.rows; ++r) {
      for (std::int64_t c = 0; c < layout.result.columns; ++c) {
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i)
          sum += element(b.data(), layout.first, layout.transpose_first, r, i) *
                 element(a.data(), layout.second, layout.transpose_second, i, c);
        actual[size_of(r + c * layout.result.leading)] = sum;
      }
    }
    CHECK(ashlar::test::distance(actual, expected) < 1e-12);
  }
}
