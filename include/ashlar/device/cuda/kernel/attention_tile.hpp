// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Functions that the attention kernels without tensor cores share. Tensor cores are not used for
// float, for double, and for some cases of bfloat16 (attention.hpp). A block has 256 threads,
// arranged as 16 x 16. These threads multiply tiles of rows of one head. The tiles are in shared
// memory, as elements of type accumulation_t<T>. The products are in registers.
//
//   thread t      computes rows (t / 16) per + a, for a < per, and columns t % 16 + 16 c. Here
//                 per = tile / 16 is the number of rows of a thread.
//   pitch         the distance between rows in elements; it is odd, so that the elements of 16
//                 rows in one column are in different banks
//   head_dim      at most Dim, which determines the number of registers
//
//   Dim   rows of a tile: float / double   shared memory of the backward pass: float / double
//   64    64 / 32                           98 KiB / 82 KiB
//   128   32 / 32                           73 KiB / 146 KiB
//   256   32 / not supported               137 KiB
//
// If a block needs more shared memory than the device permits for a block (99 KiB on sm_86, sm_89
// and sm_120), the launcher refuses the launch.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/attention_extents.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda::detail {

template <class A, int Dim>
inline constexpr int attention_tile = sizeof(A) == 4 && Dim == 64 ? 64 : 32;

inline constexpr int side = 16;

/// Returns the distance, in elements, between rows of `columns` elements in shared memory. The
/// distance is odd, so that the elements of neighbouring rows in one column are in different banks.
ASHLAR_HD constexpr std::int64_t pitch_of(std::int64_t columns) { return columns | 1; }

/// A pointer to the rows of one head in global memory. Row i starts at data + i * stride.
template <class T>
struct head_rows {
  T* data;
  std::int64_t stride;
};

/// Returns the rows of q (`which` = 0), k (1) or v (2) of one sample and head. `pair` is sample *
/// heads + head.
template <class T>
ASHLAR_HD head_rows<T> rows_of_qkv(device::attention_extents const& e, T* qkv, std::int64_t pair,
                                   int which) {
  std::int64_t const token = e.heads * 3 * e.head_dim;
  division const place(pair, e.heads);
  return {qkv + place.quotient * e.sequence * token + (place.remainder * 3 + which) * e.head_dim,
          token};
}

template <class T>
ASHLAR_HD head_rows<T> rows_of_out(device::attention_extents const& e, T* out, std::int64_t pair) {
  std::int64_t const step = e.heads * e.head_dim;
  division const place(pair, e.heads);
  return {out + place.quotient * e.sequence * step + place.remainder * e.head_dim, step};
}

/// Loads this thread's share of rows [first, first + Tile) into shared memory. Sets rows to zero if
/// their index is at least `rows` (the number of rows that exist). A row has d elements.
template <int Tile, class T, class A>
ASHLAR_HD void load_tile(int t, int threads, head_rows<T const> from, std::int64_t first,
                         std::int64_t rows, std::int64_t d, A* to) {
  std::int64_t const pitch = pitch_of(d);
  for (std::int64_t i = t; i < Tile * d; i += threads) {
    division const place(i, d);
    std::int64_t const row = first + place.quotient;
    to[place.quotient * pitch + place.remainder] =
        row < rows ? static_cast<A>(from.data[row * from.stride + place.remainder]) : A(0);
  }
}

/// Computes dot products of rows of two tiles in shared memory: result[a][b] = row r0 + a of `left`
/// times row c0 + 16 b of `right`. A row has d elements.
template <int Per, class A>
ASHLAR_HD void dot_tiles(A const* left, A const* right, std::int64_t r0, std::int64_t c0,
                         std::int64_t d, A (&result)[Per][Per]) {
  std::int64_t const pitch = pitch_of(d);
  for (int a = 0; a < Per; ++a)
    for (int b = 0; b < Per; ++b) result[a][b] = A(0);
  for (std::int64_t k = 0; k < d; ++k) {
    A x[Per];
    A y[Per];
    for (int a = 0; a < Per; ++a) x[a] = left[(r0 + a) * pitch + k];
    for (int b = 0; b < Per; ++b) y[b] = right[(c0 + side * b) * pitch + k];
    for (int a = 0; a < Per; ++a)
      for (int b = 0; b < Per; ++b) result[a][b] += x[a] * y[b];
  }
}

/// Adds one thread's elements of the product of two matrices in shared memory to `sums`. The
/// product is weights * tile, or weights^T * tile if Transposed. sums[a][c] belongs to row r0 + a
/// and column c0 + 16 c of the product. A row of `tile` has d elements.
template <int Tile, bool Transposed, int Per, int Columns, class A>
ASHLAR_HD void add_product(A const* weights, A const* tile, std::int64_t r0, std::int64_t c0,
                           std::int64_t d, A (&sums)[Per][Columns]) {
  constexpr std::int64_t weight_pitch = pitch_of(Tile);
  std::int64_t const pitch = pitch_of(d);
  for (std::int64_t k = 0; k < Tile; ++k) {
    A w[Per];
    for (int a = 0; a < Per; ++a)
      w[a] = Transposed ? weights[k * weight_pitch + r0 + a] : weights[(r0 + a) * weight_pitch + k];
    for (int c = 0; c < Columns; ++c) {
      std::int64_t const column = c0 + side * c;
      A const value = column < d ? tile[k * pitch + column] : A(0);
      for (int a = 0; a < Per; ++a) sums[a][c] += w[a] * value;
    }
  }
}

/// Writes one thread's values to a head in global memory. values[a][c] * factor[a] is written to
/// row first + r0 + a and column c0 + 16 c. Rows with an index of at least `rows` are not written.
template <int Per, int Columns, class T, class A>
ASHLAR_HD void write_rows(head_rows<T> to, std::int64_t first, std::int64_t rows, std::int64_t r0,
                          std::int64_t c0, std::int64_t d, A const (&values)[Per][Columns],
                          A const (&factor)[Per]) {
  for (int a = 0; a < Per; ++a) {
    std::int64_t const row = first + r0 + a;
    if (row >= rows) return;
    for (int c = 0; c < Columns; ++c) {
      std::int64_t const column = c0 + side * c;
      if (column < d) to.data[row * to.stride + column] = static_cast<T>(values[a][c] * factor[a]);
    }
  }
}

}  // namespace ashlar::cuda::detail
