// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A row-major product as the column-major one that cuBLASLt computes. A row-major array is the column-major
// transpose of itself, so C = op(A) op(B) is asked for as C^T = op(B)^T op(A)^T:
//
//   cuBLASLt   is     column-major rows x columns        transposed
//   A          our B  n x k, or k x n if transposed      if our B is
//   B          our A  k x m, or m x k if transposed      if our A is
//   C, D       our C  n x m                              never
//
// A bias of cuBLASLt is one number for each of its rows: of our columns.

#include <cstdint>

namespace ashlar::cuda {

struct column_major {
  std::int64_t rows, columns, leading;
};

struct gemm_layout {
  column_major first, second, result;
  bool transpose_first, transpose_second;

  constexpr gemm_layout(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
                        std::int64_t k, std::int64_t lda, std::int64_t ldb, std::int64_t ldc)
      : first{transpose_b ? k : n, transpose_b ? n : k, ldb},
        second{transpose_a ? m : k, transpose_a ? k : m, lda}, result{n, m, ldc},
        transpose_first(transpose_b), transpose_second(transpose_a) {}
};

}  // namespace ashlar::cuda
