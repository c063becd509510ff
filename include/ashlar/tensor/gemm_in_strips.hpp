// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a local product c = a · b so that pending transfers make progress meanwhile. The host
// has no background thread for transfers. While transfers are pending, the host therefore computes
// c in strips of rows, with one GEMM for each strip. Before each strip it lets the transfers
// progress. A strip of 256 rows is large enough to lose almost no speed, and a transfer waits for
// at most one strip. A device moves data in the background, so it runs the whole product as one
// GEMM.

#include <algorithm>

#include <ashlar/comm/mesh.hpp>
#include <ashlar/device/host/operations.hpp>

namespace ashlar::detail {

inline constexpr std::int64_t gemm_strip = 256;  ///< rows of c in a strip

/// Computes c[i] = op(a[i]) · op(b[i]) for each matrix i of a batch, or c[i] += op(a[i]) · op(b[i])
/// if `adds`. op transposes a matrix or does nothing. The arguments from `transpose_a` on mean the
/// same as in gemm_batched_strided. Pending transfers progress meanwhile.
template <class T, class Processor>
void gemm_in_strips(basic_mesh<Processor> const& mesh, bool transpose_a, bool transpose_b,
                    std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, T const* a,
                    std::int64_t lda, std::int64_t stride_a, T const* b, std::int64_t ldb,
                    std::int64_t stride_b, bool adds, T* c, std::int64_t ldc,
                    std::int64_t stride_c) {
  using scalar = accumulation_t<T>;
  scalar const beta = adds ? scalar(1) : scalar(0);
  auto const on = mesh.processor();
  if (!Processor::is_host || mesh.operations().idle()) {
    gemm_batched_strided(on, transpose_a, transpose_b, batch, m, n, k, scalar(1), a, lda, stride_a,
                         b, ldb, stride_b, beta, c, ldc, stride_c);
    return mesh.progress();
  }
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t row = 0; row < m; row += gemm_strip) {
      mesh.progress();
      gemm(on, transpose_a, transpose_b, std::min(gemm_strip, m - row), n, k, scalar(1),
           a + i * stride_a + row * (transpose_a ? 1 : lda), lda, b + i * stride_b, ldb, beta,
           c + i * stride_c + row * ldc, ldc);
    }
}

}  // namespace ashlar::detail
