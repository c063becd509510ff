// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Matrix products of row-major arrays by a CBLAS: C = alpha op(A) op(B) + beta C. op(A) is m x k,
// op(B) is k x n, and C is m x n. op(A) is A, or the transpose of A if transpose_a is set. In that
// case A is stored as a k x m matrix. The same holds for B, which is stored as an n x k matrix if
// transpose_b is set. lda, ldb and ldc are the distances between two rows of the stored matrices,
// in elements.
//
//   m = 0 or n = 0   does nothing
//   k = 0            C = beta C; if beta = 0, C = 0 even if C contained NaN
//   bfloat16         multiplied and summed in float, rounded once (gemm_bfloat16.hpp); alpha and
//                    beta are float
//   large extents    std::overflow_error is thrown if an extent exceeds int, which CBLAS uses
//
// This is the only file of ashlar that includes <cblas.h>. ashlar does not set the number of
// threads of the BLAS. The command that starts the processes sets this number, for example by
// OPENBLAS_NUM_THREADS=1 for one rank on each core.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

// OpenBLAS's header defines an integer type `bfloat16` in the global namespace. In programs with
// `using namespace ashlar`, the name `bfloat16` would be ambiguous. So OpenBLAS's type is renamed.
#define bfloat16 ashlar_blas_bfloat16
#include <cblas.h>
#undef bfloat16

#include <ashlar/config.hpp>
#include <ashlar/device/host/gemm_bfloat16.hpp>

namespace ashlar::device::host {

namespace detail {

/// Converts an extent to int, the integer type of CBLAS. Throws std::overflow_error if the extent
/// is negative or too large for int.
inline int blas_extent(std::int64_t value, char const* name) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw std::overflow_error(
        "gemm: " + std::string(name) + " = " + std::to_string(value) +
        " does not fit into the integers of a 32-bit BLAS. Split the product.");
  }
  return static_cast<int>(value);
}

/// Computes C = beta C. If beta = 0, sets C to 0 even if C contains NaN.
template <class T>
void scale_rows(std::int64_t m, std::int64_t n, T beta, T* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      c[i * ldc + j] = beta == T(0) ? T(0) : beta * c[i * ldc + j];
    }
  }
}

template <class T, class Kernel>
void gemm(Kernel kernel, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
          std::int64_t k, T alpha, T const* a, std::int64_t lda, T const* b, std::int64_t ldb,
          T beta, T* c, std::int64_t ldc) {
  int const rows = blas_extent(m, "m");
  int const columns = blas_extent(n, "n");
  int const inner = blas_extent(k, "k");
  // If a matrix has no columns, the caller may pass 0 as the distance between its rows. A CBLAS
  // rejects 0.
  int const stride_a = std::max(1, blas_extent(lda, "lda"));
  int const stride_b = std::max(1, blas_extent(ldb, "ldb"));
  int const stride_c = std::max(1, blas_extent(ldc, "ldc"));
  if (m == 0 || n == 0) return;
  if (k == 0) return scale_rows(m, n, beta, c, ldc);
  kernel(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
         transpose_b ? CblasTrans : CblasNoTrans, rows, columns, inner, alpha, a, stride_a, b,
         stride_b, beta, c, stride_c);
}

}  // namespace detail

/// Computes C = alpha op(A) op(B) + beta C, where op transposes a matrix or does nothing. Throws
/// std::overflow_error for extents that exceed int.
inline void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                 float alpha, float const* a, std::int64_t lda, float const* b, std::int64_t ldb,
                 float beta, float* c, std::int64_t ldc) {
  detail::gemm(cblas_sgemm, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// Computes C = alpha op(A) op(B) + beta C for double, where op transposes a matrix or does
/// nothing.
inline void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                 double alpha, double const* a, std::int64_t lda, double const* b, std::int64_t ldb,
                 double beta, double* c, std::int64_t ldc) {
  detail::gemm(cblas_dgemm, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// Computes C = alpha op(A) op(B) + beta C for bfloat16, where op transposes a matrix or does
/// nothing. Multiplies and sums in float and rounds the result once.
inline void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                 float alpha, bfloat16 const* a, std::int64_t lda, bfloat16 const* b,
                 std::int64_t ldb, float beta, bfloat16* c, std::int64_t ldc) {
  for (std::int64_t const extent : {m, n, k}) detail::blas_extent(extent, "an extent");
  if (m == 0 || n == 0) return;
  detail::gemm_widened(
      [=](std::int64_t rows, std::int64_t columns, std::int64_t inner, float const* left,
          std::int64_t left_pitch, float const* right, std::int64_t right_pitch, float scale,
          float* sums) {
        gemm(transpose_a, transpose_b, rows, columns, inner, alpha, left, left_pitch, right,
             right_pitch, scale, sums, columns);
      },
      transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

/// Computes `batch` matrix products C = alpha op(A) op(B) + beta C, where op transposes a matrix or
/// does nothing. Product i has the operands a + i * stride_a and b + i * stride_b and the result c
/// + i * stride_c. If stride_a or stride_b is 0, all products use the same a or b. The results must
/// not overlap.
template <class T>
void gemm_batched_strided(bool transpose_a, bool transpose_b, std::int64_t batch, std::int64_t m,
                          std::int64_t n, std::int64_t k, accumulation_t<T> alpha, T const* a,
                          std::int64_t lda, std::int64_t stride_a, T const* b, std::int64_t ldb,
                          std::int64_t stride_b, accumulation_t<T> beta, T* c, std::int64_t ldc,
                          std::int64_t stride_c) {
  for (std::int64_t i = 0; i < batch; ++i) {
    gemm(transpose_a, transpose_b, m, n, k, alpha, a + i * stride_a, lda, b + i * stride_b, ldb,
         beta, c + i * stride_c, ldc);
  }
}

}  // namespace ashlar::device::host
