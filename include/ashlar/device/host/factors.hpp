// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The arithmetic of the wire power_sgd (plan/wire.hpp), which sends a matrix as the product of two
// factors. The factors are row-major matrices with few columns:
//
//   orthonormalize   makes the columns of a factor orthonormal, or zero
//   fill_empty       fills the columns that are zero with random numbers
//
// orthonormalize subtracts from each column its components along the earlier columns. If the column
// is nearly a linear combination of the earlier columns, only rounding noise remains, and
// orthonormalize sets the column to zero. This happens if the rank of the matrix is smaller than
// the number of columns of the factors.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/random.hpp>

namespace ashlar::device::host {

/// Makes the columns of a factor orthonormal, one after another, starting with the first. If an
/// element is not finite, the resulting factor has elements that are not finite too.
ASHLAR_INLINE void orthonormalize(float* factor, std::int64_t rows, std::int64_t columns);

/// Replaces each column of zeros by random numbers. The numbers depend only on the row and the
/// column, so all ranks draw the same numbers.
ASHLAR_INLINE void fill_empty(float* factor, std::int64_t rows, std::int64_t columns);

#if ASHLAR_DEFINES(TENSOR)
namespace detail {

/// Returns the inner product of two columns.
inline double columns_product(float const* factor, std::int64_t rows, std::int64_t columns,
                              std::int64_t a, std::int64_t b) {
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    sum += double(factor[i * columns + a]) * double(factor[i * columns + b]);
  return sum;
}

}  // namespace detail

ASHLAR_INLINE void orthonormalize(float* factor, std::int64_t rows, std::int64_t columns) {
  constexpr double noise = 1e-5;  // relative to the norm of the column before the subtractions
  for (std::int64_t j = 0; j < columns; ++j) {
    double const before = std::sqrt(detail::columns_product(factor, rows, columns, j, j));
    // Because of rounding, the first pass leaves small components along the earlier columns. The
    // second pass removes them.
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t k = 0; k < j; ++k) {
        double const part = detail::columns_product(factor, rows, columns, j, k);
        for (std::int64_t i = 0; i < rows; ++i)
          factor[i * columns + j] -= static_cast<float>(part * double(factor[i * columns + k]));
      }
    double const norm = std::sqrt(detail::columns_product(factor, rows, columns, j, j));
    // If an element of the column is not finite, `before` is not finite either. Then the column is
    // divided by its norm, so that the result is not finite.
    bool const vanishes = std::isfinite(before) && norm <= noise * before;
    for (std::int64_t i = 0; i < rows; ++i) {
      auto& x = factor[i * columns + j];
      x = vanishes ? 0.0f : static_cast<float>(double(x) / norm);
    }
  }
}

ASHLAR_INLINE void fill_empty(float* factor, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t most = 64;  // elements that are drawn at a time
  float random[most];
  for (std::int64_t j = 0; j < columns; ++j) {
    bool is_empty = true;
    for (std::int64_t i = 0; i < rows; ++i) is_empty = is_empty && factor[i * columns + j] == 0;
    if (!is_empty) continue;
    for (std::int64_t i = 0; i < rows; i += most) {
      std::int64_t const n = std::min(most, rows - i);
      fill_normal<float>(1, static_cast<std::uint64_t>(j), i, n, 0.0, 1.0, random);
      for (std::int64_t k = 0; k < n; ++k) factor[(i + k) * columns + j] = random[k];
    }
  }
}
#endif

}  // namespace ashlar::device::host
