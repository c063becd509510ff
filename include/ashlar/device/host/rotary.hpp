// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Rotary position embedding of queries and keys. A vector of d elements consists of d / 2 pairs.
// Pair i is rotated by an angle that is proportional to the vector's position in the sequence. So
// the positions of a query and a key affect their dot product only through the difference of the
// two positions:
//
//   angle(position, i) = position · base^(-2 i / d), or a scaled angle (device/rotary_angles.hpp)
//   y[i]         = x[i] cos(angle) - x[i + d / 2] sin(angle)
//   y[i + d / 2] = x[i + d / 2] cos(angle) + x[i] sin(angle)
//
// The source is Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
// In that paper, the elements of a pair are adjacent, as in the Llama weights that Meta publishes.
// Here element i is paired with element i + d / 2 ("rotate half"), as in GPT-NeoX and in Hugging
// Face's Llama. The two forms differ only in the order of the columns of the projections of queries
// and keys.
//
// A rotation is linear and orthogonal. So the gradient of x is the gradient of y, rotated back.

#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/rotary_angles.hpp>

namespace ashlar::device::host {

/// Computes the cosines and sines of the angles for the positions [first, first + length):
///
///   table  [length, head_dim]   for each position, first the cosines of all pairs, then the sines
///
/// Expects an even head_dim and a positive base.
template <class T>
void rotary_table(std::int64_t length, std::int64_t head_dim, rotary_angles const& angles, T* table,
                  std::int64_t first = 0) {
  std::int64_t const half = head_dim / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    double const turn = angles.frequency(i, head_dim);
    for (std::int64_t position = 0; position < length; ++position) {
      double const angle = static_cast<double>(first + position) * turn;
      table[position * head_dim + i] = static_cast<T>(std::cos(angle));
      table[position * head_dim + half + i] = static_cast<T>(std::sin(angle));
    }
  }
}

/// Rotates the vector x of head_dim elements. `row` is the row of the table for the position of x.
/// y may be x.
template <class T>
void rotate(T const* row, std::int64_t head_dim, T const* x, T* y) {
  std::int64_t const half = head_dim / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    T const cosine = row[i], sine = row[half + i], first = x[i], second = x[half + i];
    y[i] = first * cosine - second * sine;
    y[half + i] = second * cosine + first * sine;
  }
}

/// Rotates the vector x by the opposite angles, which is the inverse of `rotate`. If x is the
/// gradient of the result of `rotate`, then y is the gradient of the argument of `rotate`. y may be
/// x.
template <class T>
void rotate_back(T const* row, std::int64_t head_dim, T const* x, T* y) {
  std::int64_t const half = head_dim / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    T const cosine = row[i], sine = row[half + i], first = x[i], second = x[half + i];
    y[i] = first * cosine + second * sine;
    y[half + i] = second * cosine - first * sine;
  }
}

}  // namespace ashlar::device::host
