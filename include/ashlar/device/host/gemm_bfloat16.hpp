// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a product of bfloat16 matrices, C = alpha op(A) op(B) + beta C, by a BLAS that has no
// products of bfloat16. Here op transposes a matrix or does nothing. Blocks of A and B are
// converted to float. The products of the blocks are summed in a float array. This array is rounded
// to bfloat16 once, at the end:
//
//   for each 512 x 512 block of C
//     sums = beta * (the block of C); if beta = 0, C is not read
//     for each range of 512 indices of k
//       sums += alpha * (block of A) * (block of B)        by the BLAS
//     the block of C = sums, rounded to nearest
//
// The conversion is cheap, because each converted element takes part in up to 512 multiplications.
// The converted blocks and the sums are in a workspace of at most 3 MiB per thread. The workspace
// stays allocated for later calls.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/device/host/convert.hpp>

namespace ashlar::device::host::detail {

inline constexpr std::int64_t widened_block = 512;

/// Returns a pointer to this thread's workspace of at least n floats. The pointer is valid until
/// the thread's next call.
inline float* widened_workspace(std::int64_t n) {
  thread_local std::vector<float> workspace;
  if (static_cast<std::int64_t>(workspace.size()) < n)
    workspace.resize(static_cast<std::size_t>(n));
  return workspace.data();
}

/// Converts a bfloat16 block, whose rows are `pitch` elements apart, to a contiguous float array
/// dst.
inline void widen_rows(bfloat16 const* src, std::int64_t pitch, std::int64_t rows,
                       std::int64_t columns, float* dst) {
  for (std::int64_t r = 0; r < rows; ++r) widen(src + r * pitch, columns, dst + r * columns);
}

/// Computes C = alpha op(A) op(B) + beta C for bfloat16 matrices with m, n > 0, where op transposes
/// a matrix or does nothing. The matrices are converted to float block by block. The caller's
/// function multiply(m, n, k, a, lda, b, ldb, beta, c) multiplies two float blocks: it must compute
/// c = alpha op(a) op(b) + beta c, where c is contiguous. The caller must have bound alpha and the
/// transpositions of a and b in `multiply`.
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
      do {  // The body runs even if k = 0, and then clears or scales the sums.
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
