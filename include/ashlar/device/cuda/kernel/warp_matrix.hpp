// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The positions of matrix elements among the 32 threads ("lanes") of a warp: for the tensor core
// product c (16 x 8, float) += a (16 x 16, bfloat16) b (16 x 8, bfloat16), and for loads of 8 x 8
// matrices. They are defined by the PTX ISA, mma.m16n8k16 and ldmatrix. A word holds two bfloat16,
// the first one in its low half.
//
//   lane l = 4 g + q      contents of word or value i of this lane
//   a, words 0 .. 3       row g + 8 (i % 2), columns 2 q + 8 (i / 2) and the next one
//   b, words 0, 1         rows 2 q + 8 i and the next one, column g
//   c, values 0 .. 3      row g + 8 (i / 2), column 2 q + i % 2
//   ldmatrix, word i      row g of matrix i, columns 2 q and the next one; transposed: column g,
//                         rows 2 q and the next one. Lane 8 i + r passes the address of row r of
//                         matrix i, which has 8 elements, 16 bytes.
//
// It follows that two neighbouring results c, rounded to bfloat16, form an operand a of the next
// product: its words are {c0 c1, c2 c3} of the left result, then those of the right result. So
// attention scores become weights without passing through memory.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

struct matrix_place {
  int row;
  int column;
};

/// Returns the position of the first element of word `word` of a. The second one is in the next
/// column.
ASHLAR_HD constexpr matrix_place place_in_a(int lane, int word) {
  return {lane / 4 + word % 2 * 8, lane % 4 * 2 + word / 2 * 8};
}
/// Returns the position of the first element of word `word` of b. The second one is in the next
/// row.
ASHLAR_HD constexpr matrix_place place_in_b(int lane, int word) {
  return {lane % 4 * 2 + word * 8, lane / 4};
}
ASHLAR_HD constexpr matrix_place place_in_c(int lane, int value) {
  return {lane / 4 + value / 2 * 8, lane % 4 * 2 + value % 2};
}

/// Returns the start of the row whose address lane `lane` passes to load an operand a. Rows in
/// memory are rows of a.
ASHLAR_HD constexpr matrix_place row_for_a(int lane) { return {lane % 16, lane / 16 * 8}; }
/// Returns the start of the row whose address lane `lane` passes to load two neighbouring operands
/// b, words 0, 1 and 2, 3. Rows in memory are columns of b.
ASHLAR_HD constexpr matrix_place row_for_b(int lane) {
  return {lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8};
}
/// Returns the start of the row whose address lane `lane` passes to load two neighbouring operands
/// b by a transposed load. Rows in memory are rows of b.
ASHLAR_HD constexpr matrix_place row_for_b_transposed(int lane) {
  return {lane % 16, lane / 16 * 8};
}

/// One thread's part of a product c += a b: it has 4 values of c, 4 words of a and 2 words of b.
struct mma_operands {
  float* c;
  std::uint32_t const* a;
  std::uint32_t const* b;
};

/// One thread's part of loading four 8 x 8 matrices: `row` is the address that it passes, and `to`
/// receives its 4 words, one of each matrix.
struct matrix_load {
  bfloat16 const* row;
  std::uint32_t* to;
};

static_assert(place_in_a(5, 3).row == 9 && place_in_a(5, 3).column == 10);
static_assert(place_in_b(5, 1).row == 10 && place_in_b(5, 1).column == 1);
static_assert(place_in_c(5, 2).row == 9 && place_in_c(5, 2).column == 2);

}  // namespace ashlar::cuda
