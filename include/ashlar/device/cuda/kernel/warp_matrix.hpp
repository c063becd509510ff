// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which element of a matrix lies where among the 32 threads ("lanes") of a warp, for the product of tensor
// cores c (16 x 8, float) += a (16 x 16, bfloat16) b (16 x 8, bfloat16), and for loads of 8 x 8 matrices.
// Facts of the PTX ISA, mma.m16n8k16 and ldmatrix. A word holds two bfloat16, the first in its low half.
//
//   lane l = 4 g + q      word or value i holds
//   a, words 0 .. 3       row g + 8 (i % 2), columns 2 q + 8 (i / 2) and the next
//   b, words 0, 1         rows 2 q + 8 i and the next, column g
//   c, values 0 .. 3      row g + 8 (i / 2), column 2 q + i % 2
//   ldmatrix, word i      of matrix i: row g, columns 2 q and the next; transposed: column g, rows 2 q, ...
//                         lane 8 i + r gives the address of row r of matrix i: 8 elements, 16 bytes
//
// So the c of two products side by side, rounded, are the a of one: words {c0 c1, c2 c3} of the left one,
// then of the right one. No element passes through memory on its way from scores to weights.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

struct matrix_place {
  int row;
  int column;
};

/// Where the first element of word `word` of a is; the second is in the next column.
ASHLAR_HD constexpr matrix_place place_in_a(int lane, int word) {
  return {lane / 4 + word % 2 * 8, lane % 4 * 2 + word / 2 * 8};
}
/// Where the first element of word `word` of b is; the second is in the next row.
ASHLAR_HD constexpr matrix_place place_in_b(int lane, int word) {
  return {lane % 4 * 2 + word * 8, lane / 4};
}
ASHLAR_HD constexpr matrix_place place_in_c(int lane, int value) {
  return {lane / 4 + value / 2 * 8, lane % 4 * 2 + value % 2};
}

/// The row whose address lane `lane` gives, so that four loaded matrices are an a of the rows of memory.
ASHLAR_HD constexpr matrix_place row_for_a(int lane) { return {lane % 16, lane / 16 * 8}; }
/// The same for two neighbouring b, words 0, 1 and 2, 3: memory holds a row for each column of b.
ASHLAR_HD constexpr matrix_place row_for_b(int lane) {
  return {lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8};
}
/// And where memory holds the rows of b themselves, loaded transposed.
ASHLAR_HD constexpr matrix_place row_for_b_transposed(int lane) {
  return {lane % 16, lane / 16 * 8};
}

/// c[0 .. 4) += a[0 .. 4) b[0 .. 2) of a warp: this thread's part.
struct mma_operands {
  float* c;
  std::uint32_t const* a;
  std::uint32_t const* b;
};

/// Four 8 x 8 matrices of a warp: the row of this thread, and where its words [0, 4) go.
struct matrix_load {
  bfloat16 const* row;
  std::uint32_t* to;
};

static_assert(place_in_a(5, 3).row == 9 && place_in_a(5, 3).column == 10);
static_assert(place_in_b(5, 1).row == 10 && place_in_b(5, 1).column == 1);
static_assert(place_in_c(5, 2).row == 9 && place_in_c(5, 2).column == 2);

}  // namespace ashlar::cuda
