// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a product of bfloat16 matrices with products of float matrices. Blocks of the operands
// are widened to float, and their products are accumulated in a float block of C, which is rounded
// once, at the end:
//
//   for each 512 x 512 block of C    accumulators = beta C, widened; nothing is read if beta = 0
//     for each 512 of k              accumulators += alpha * A block * B block (BLAS)
//     C block = accumulators, rounded to nearest
//
// So there are two conversions for about 500 multiplications. The blocks are in a workspace of at
// most 3 MiB that each calling thread keeps, so only the first product of a size allocates memory.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/device/host/convert.hpp>

namespace ashlar::device::host::detail {

inline constexpr std::int64_t widened_block = 512;

/// Returns a workspace of at least n floats. It is valid until the thread's next call.
inline float* widened_workspace(std::int64_t n) {
  thread_local std::vector<float> workspace;
  if (static_cast<std::int64_t>(workspace.size()) < n)
    workspace.resize(static_cast<std::size_t>(n));
  return workspace.data();
}

/// Widens a block of rows into the contiguous array dst.
inline void widen_rows(bfloat16 const* src, std::int64_t pitch, std::int64_t rows,
                       std::int64_t columns, float* dst) {
  for (std::int64_t r = 0; r < rows; ++r) widen(src + r * pitch, columns, dst + r * columns);
}

/// Computes C = alpha op(A) op(B) + beta C for 0 < m, n. `multiply` computes the product of float
/// blocks and applies alpha and the transpositions: multiply(m, n, k, a, lda, b, ldb, beta, c),
/// with a contiguous c of n columns.
template <class Multiply>
void gemm_widened(Multiply multiply, bool transpose_a, bool transpose_b, std::int64_t m,
                  std::int64_t n, std::int64_t k, bfloat16 const* a, std::int64_t lda,
                  bfloat16 const* b, std::int64_t ldb, float beta, bfloat16* c, std::int64_t ldc) {
  std::int64_t const m_block = std::min(m, widened_block), n_block = std::min(n, widened_block);
  std::int64_t const k_block = std::min(k, widened_block);
  float* const sums = widened_workspace(m_block * n_block + (m_block + n_block) * k_block);
  float* const left = sums + m_block * n_block;
  float* const right = left + m_block * k_block;
  for (std::int64_t j = 0; j < n; j += n_block) {
    std::int64_t const columns = std::min(n_block, n - j);
    for (std::int64_t i = 0; i < m; i += m_block) {
      std::int64_t const rows = std::min(m_block, m - i);
      if (beta != 0) widen_rows(c + i * ldc + j, ldc, rows, columns, sums);
      std::int64_t l = 0;
      do {  // runs once even if k = 0: this clears or scales the sums
        std::int64_t const inner = std::min(k_block, k - l);
        if (transpose_a) widen_rows(a + l * lda + i, lda, inner, rows, left);
        else widen_rows(a + i * lda + l, lda, rows, inner, left);
        if (transpose_b) widen_rows(b + j * ldb + l, ldb, columns, inner, right);
        else widen_rows(b + l * ldb + j, ldb, inner, columns, right);
        multiply(rows, columns, inner, left, transpose_a ? rows : inner, right,
                 transpose_b ? inner : columns, l == 0 ? beta : 1.0f, sums);
        l += inner;
      } while (l < k);
      for (std::int64_t r = 0; r < rows; ++r)
        narrow(sums + r * columns, columns, c + (i + r) * ldc + j);
    }
  }
}

}  // namespace ashlar::device::host::detail
