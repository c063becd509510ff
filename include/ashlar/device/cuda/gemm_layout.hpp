// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Translates a row-major matrix product into the column-major product that cuBLASLt computes. A
// row-major matrix, read as column-major, is the transpose of that matrix. So C = op(A) op(B),
// where op transposes a matrix or does nothing, is computed as C^T = op(B)^T op(A)^T, with the
// operands exchanged:
//
//   operand of cuBLASLt   our operand   column-major rows x columns      transposed
//   A                     B             n x k, or k x n if transposed    if our B is transposed
//   B                     A             k x m, or m x k if transposed    if our A is transposed
//   C, D                  C             n x m                            never
//
// The bias of cuBLASLt has one value for each row of its column-major result. Such a row is a
// column of our C.

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
