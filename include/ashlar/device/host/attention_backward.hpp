// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Backward pass of multi-head attention on the host. It recomputes the attention probabilities P
// from the log-sum-exp that the forward pass has saved. attention_extents.hpp describes the arrays.
// The query rows of a head are processed in blocks. Q has the rows of a block, and K and V have the
// keys and values that these rows attend to. O is the output, and dO is the gradient of O:
//
//   P  = e^(scale Q K^T - log_sum_exp)        dV += P^T dO
//   dS = P * (dO V^T - dot(dO, O))            dQ  = scale dS K,  dK += scale dS^T Q
//
// Here * multiplies element by element, and dot multiplies row by row. The last block of rows is
// processed first. The last block attends to every key. So this block assigns dK and dV, and the
// other blocks add to dK and dV. This saves a pass that clears dK and dV. dqkv is overwritten.

#include <algorithm>
#include <cstdint>
#include <optional>

#include <ashlar/config.hpp>
#include <ashlar/device/host/attention.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device::host {

/// Returns the number of elements of the workspace that attention_backward needs.
constexpr std::int64_t attention_backward_workspace(attention_extents const& e) {
  return 5 * detail::attention_panel(e) + 2 * detail::attention_scores(e);
}

namespace detail {

/// Computes one row of the probabilities P and of the score gradients dS in place.
///
///   score      on entry the scores, on return P
///   gradient   on entry the gradient of P, on return dS = P (gradient - dot)
///   width      the number of elements of the row
///   seen       the number of keys that the row attends to; elements with index >= seen become zero
template <class T>
void attention_backward_row(std::int64_t seen, std::int64_t width, T log_sum_exp, T dot, T* score,
                            T* gradient) {
  T* ASHLAR_RESTRICT const p = score;
  T* ASHLAR_RESTRICT const g = gradient;
  for (std::int64_t j = 0; j < seen; ++j) {
    T const probability = math::exp(p[j] - log_sum_exp);
    p[j] = probability;
    g[j] = probability * (g[j] - dot);
  }
  std::fill(p + seen, p + width, T(0));
  std::fill(g + seen, g + width, T(0));
}

}  // namespace detail

/// Computes dqkv, the gradient of qkv. `dout` is the gradient of `out`. `qkv` is the input of the
/// forward pass, and `out` and `log_sum_exp` are its outputs. The workspace has
/// attention_backward_workspace(e) elements.
template <class T>
void attention_backward(T const* dout, T const* qkv, T const* out, T const* log_sum_exp,
                        attention_extents const& e, T* workspace, T* dqkv,
                        std::optional<double> scale = std::nullopt) {
  if (e.sequence == 0) return;
  T const factor = detail::attention_scale<T>(e, scale);
  std::int64_t const d = e.head_dim;
  std::int64_t const token = e.heads * 3 * d;
  std::int64_t const step = e.heads * d;  // the distance between two tokens in out and dout
  std::int64_t const panel = detail::attention_panel(e);
  T* const q_packed = workspace;
  T* const k_packed = q_packed + panel;
  T* const k_transposed = k_packed + panel;
  T* const v_transposed = k_transposed + panel;
  T* const grad_packed = v_transposed + panel;
  T* const p = grad_packed + panel;
  T* const ds = p + detail::attention_scores(e);
  for (std::int64_t pair = 0; pair < e.batch * e.heads; ++pair) {
    between_blocks();
    std::int64_t const b = pair / e.heads;
    std::int64_t const h = pair % e.heads;
    std::int64_t const packed = b * e.sequence * token + h * 3 * d;
    T const* const q = qkv + packed;
    T* const dq = dqkv + packed;
    T const* const o = out + b * e.sequence * step + h * d;
    T const* const grad = dout + b * e.sequence * step + h * d;
    detail::pack_rows(q, token, e.sequence, d, q_packed);
    detail::pack_rows(q + d, token, e.sequence, d, k_packed);
    detail::pack_transposed(q + d, token, e.sequence, d, k_transposed);
    detail::pack_transposed(q + 2 * d, token, e.sequence, d, v_transposed);
    detail::pack_rows(grad, step, e.sequence, d, grad_packed);
    std::int64_t const keys = e.sequence + attention_pad;
    std::int64_t const blocks = (e.sequence + attention_block - 1) / attention_block;
    for (std::int64_t block = blocks; block-- > 0;) {
      std::int64_t const first = block * attention_block;
      std::int64_t const last = std::min(first + attention_block, e.sequence);
      std::int64_t const rows = last - first;
      std::int64_t const seen = e.keys(last);
      std::int64_t const pitch = seen + attention_pad;
      T const keep = block + 1 == blocks ? T(0) : T(1);
      T const* const q_rows = q_packed + first * d;
      T const* const grad_rows = grad_packed + first * d;
      gemm(false, false, rows, seen, d, factor, q_rows, d, k_transposed, keys, T(0), p, pitch);
      gemm(false, false, rows, seen, d, T(1), grad_rows, d, v_transposed, keys, T(0), ds, pitch);
      for (std::int64_t i = first; i < last; ++i) {
        T const* const left = grad_packed + i * d;
        T const* const right = o + i * step;
        T const dot = reduce_sum<T>(d, [=](std::int64_t c) { return left[c] * right[c]; });
        std::int64_t const row = (i - first) * pitch;
        detail::attention_backward_row(e.seen(i), seen, log_sum_exp[pair * e.sequence + i], dot,
                                       p + row, ds + row);
      }
      gemm(true, false, seen, d, rows, T(1), p, pitch, grad_rows, d, keep, dq + 2 * d, token);
      gemm(false, false, rows, d, seen, factor, ds, pitch, k_packed, d, T(0), dq + first * token,
           token);
      gemm(true, false, seen, d, rows, factor, ds, pitch, q_rows, d, keep, dq + d, token);
    }
  }
}

}  // namespace ashlar::device::host
