// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines which matrix elements each of the 32 threads ("lanes") of a warp holds. The PTX ISA
// defines these positions for two instructions:
//
//   mma.m16n8k16   the tensor core product c += a b, where a (16 x 16) and b (16 x 8) are bfloat16
//                  and c (16 x 8) is float
//   ldmatrix       loads 8 x 8 matrices of bfloat16 from shared memory
//
// A word holds two bfloat16, the first one in its low half. In the following table, l = 4 g + q is
// the number of the lane, with 0 <= q < 4, and i is the number of a word or value of this lane:
//
//   a, words i = 0 .. 3    row g + 8 (i % 2), columns 2 q + 8 (i / 2) and the next one
//   b, words i = 0, 1      rows 2 q + 8 i and the next one, column g
//   c, values i = 0 .. 3   row g + 8 (i / 2), column 2 q + i % 2
//   ldmatrix, word i       row g of matrix i, columns 2 q and the next one; transposed: column g,
//                          rows 2 q and the next one. Lane 8 i + r passes the address of row r of
//                          matrix i, which has 8 elements, 16 bytes.
//
// So two horizontally adjacent results c, rounded to bfloat16, form an operand a of the next
// product. The words of this operand a are {c0 c1, c2 c3} of the left result, then {c0 c1, c2 c3}
// of the right one. Attention uses this: scores become weights of the next product without leaving
// the registers.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

struct matrix_place {
  int row;
  int column;
};

/// Returns the row and column of the first of the two elements in word `word` of the left operand
/// a. The second one is in the next column.
ASHLAR_HD constexpr matrix_place place_in_a(int lane, int word) {
  return {lane / 4 + word % 2 * 8, lane % 4 * 2 + word / 2 * 8};
}
/// Returns the row and column of the first of the two elements in word `word` of the right operand
/// b. The second one is in the next row.
ASHLAR_HD constexpr matrix_place place_in_b(int lane, int word) {
  return {lane % 4 * 2 + word * 8, lane / 4};
}
ASHLAR_HD constexpr matrix_place place_in_c(int lane, int value) {
  return {lane / 4 + value / 2 * 8, lane % 4 * 2 + value % 2};
}

/// To load operand a (16 x 16), each lane passes the address of 8 elements to ldmatrix. Returns the
/// row and column of a at which the 8 elements of lane `lane` start. Each row in memory is a row of
/// a.
ASHLAR_HD constexpr matrix_place row_for_a(int lane) { return {lane % 16, lane / 16 * 8}; }
/// To load two neighbouring operands b (16 x 8 each), each lane passes the address of 8 elements to
/// ldmatrix. Returns the row and column in memory at which the 8 elements of lane `lane` start.
/// Each row in memory is a column of b.
ASHLAR_HD constexpr matrix_place row_for_b(int lane) {
  return {lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8};
}
/// To load two neighbouring operands b (16 x 8 each), each lane passes the address of 8 elements to
/// a transposed ldmatrix. Returns the row and column in memory at which the 8 elements of lane
/// `lane` start. Each row in memory is a row of b.
ASHLAR_HD constexpr matrix_place row_for_b_transposed(int lane) {
  return {lane % 16, lane / 16 * 8};
}

/// One thread's part of a tensor core product c += a b. The pointers refer to the thread's 4 values
/// of c, 4 words of a and 2 words of b. A word holds two bfloat16.
struct mma_operands {
  float* c;
  std::uint32_t const* a;
  std::uint32_t const* b;
};

/// One thread's part of loading four 8 x 8 matrices from shared memory. `row` is the address of the
/// matrix row that this thread passes to ldmatrix. `to` receives 4 words, one of each matrix.
struct matrix_load {
  bfloat16 const* row;
  std::uint32_t* to;
};

static_assert(place_in_a(5, 3).row == 9 && place_in_a(5, 3).column == 10);
static_assert(place_in_b(5, 1).row == 10 && place_in_b(5, 1).column == 1);
static_assert(place_in_c(5, 2).row == 9 && place_in_c(5, 2).column == 2);

}  // namespace ashlar::cuda
