// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the CUDA attention kernels on an emulated device: for float in rising order of threads, for
// bfloat16 in falling order. A kernel that depends on the order, for example because a barrier is
// missing, would give wrong results. The shared memory of the emulated device has exactly the
// requested size and is initialized to NaN, so that reads of uninitialized memory are detected.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/attention_backward.hpp>

#include "support/emulated_arrays.hpp"

namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_attention.hpp"

TEST_CASE("attention_kernels_agree_with_the_host") {
  ashlar_test::emulated_arrays forwards, backwards(true);
  ashlar_test::check_attention<float>(forwards, true);
  ashlar_test::check_attention<ashlar::bfloat16>(backwards, true);
}

TEST_CASE("each_element_of_a_warps_matrices_has_one_place") {
  int a[16][16] = {}, b[16][8] = {}, c[16][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int word = 0; word < 4; ++word) {
      auto const at = ashlar::cuda::place_in_a(lane, word);
      ++a[at.row][at.column];
      ++a[at.row][at.column + 1];
      auto const sum = ashlar::cuda::place_in_c(lane, word);
      ++c[sum.row][sum.column];
    }
    for (int word = 0; word < 2; ++word) {
      auto const at = ashlar::cuda::place_in_b(lane, word);
      ++b[at.row][at.column];
      ++b[at.row + 1][at.column];
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) CHECK(a[row][column] == 1);
    for (int column = 0; column < 8; ++column) {
      CHECK(b[row][column] == 1);
      CHECK(c[row][column] == 1);
    }
  }
}

TEST_CASE("loaded_matrices_are_the_operands_of_a_product") {
  // A 16 x 16 tile consists of four 8 x 8 matrices. load_matrices gives each lane four words, one
  // from each matrix.
  for (int lane = 0; lane < 32; ++lane) {
    for (int word = 0; word < 4; ++word) {
      auto const first = ashlar::cuda::row_for_a(8 * word + lane / 4);
      auto const a = ashlar::cuda::place_in_a(lane, word);
      CHECK(first.row == a.row);
      CHECK(first.column + lane % 4 * 2 == a.column);
      // A load for operand b covers two adjacent operands of 16 x 8. Each row in memory is a column
      // of b, or a row of b if the load transposes.
      auto const b = ashlar::cuda::place_in_b(lane, word % 2);
      auto const column = ashlar::cuda::row_for_b(8 * word + lane / 4);
      CHECK(column.row == b.column + word / 2 * 8);
      CHECK(column.column + lane % 4 * 2 == b.row);
      auto const row = ashlar::cuda::row_for_b_transposed(8 * word + lane % 4 * 2);
      CHECK(row.row == b.row);
      CHECK(row.column + lane / 4 == b.column + word / 2 * 8);
    }
  }
}
