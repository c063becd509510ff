// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The arithmetic of the wire power_sgd (plan/wire.hpp) on factors, which are row-major matrices of
// few columns:
//
//   orthonormalize   makes the columns orthonormal, or zero
//   fill_empty       gives columns that are zero random elements
//
// A column that is nearly a combination of the columns before it becomes zero, since what is left
// of it is rounding noise. This happens if the matrix has a smaller rank than the factors.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/random.hpp>

namespace ashlar::device::host {

/// Makes the columns of a factor orthonormal, from the first one on. An element that is not finite
/// leaves columns that are not finite.
ASHLAR_INLINE void orthonormalize(float* factor, std::int64_t rows, std::int64_t columns);

/// Replaces each column of zeros by random numbers. They depend only on the number of the column,
/// so all ranks draw the same ones.
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
  constexpr double noise = 1e-5;  // times the norm of a column
  for (std::int64_t j = 0; j < columns; ++j) {
    double const before = std::sqrt(detail::columns_product(factor, rows, columns, j, j));
    // The second pass removes what rounding has left of the other columns.
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t k = 0; k < j; ++k) {
        double const part = detail::columns_product(factor, rows, columns, j, k);
        for (std::int64_t i = 0; i < rows; ++i)
          factor[i * columns + j] -= static_cast<float>(part * double(factor[i * columns + k]));
      }
    double const norm = std::sqrt(detail::columns_product(factor, rows, columns, j, j));
    // If an element is not finite, neither is `before`. A division by the norm keeps that visible.
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
