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
// Here * multiplies element by element. dot(dO, O) has one number per row: the dot product of the
// row of dO and the row of O. The last block of rows is processed first. The last block attends to
// every key. So this block assigns dK and dV, and the other blocks add to dK and dV. This saves a
// pass that clears dK and dV. dqkv is overwritten.

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

/// Returns the number of elements of the workspace that attention_gradient_of_head needs.
constexpr std::int64_t backward_workspace(head_extents const& e) {
  return 2 * e.query_panel() + 3 * e.key_panel() + 2 * e.scores();
}

/// Computes dq, dk and dv, the gradients of one head. `out` and `log_sum_exp` are the results of
/// the forward pass, and `dout` is the gradient of `out`. The workspace has backward_workspace(e)
/// elements. Expects at least one query.
template <class T>
void attention_gradient_of_head(head_rows<T const> dout, head_rows<T const> q, head_rows<T const> k,
                                head_rows<T const> v, head_rows<T const> out, T const* log_sum_exp,
                                head_extents const& e, T factor, T* workspace, head_rows<T> dq,
                                head_rows<T> dk, head_rows<T> dv) {
  std::int64_t const d = e.head_dim;
  T* const q_packed = workspace;
  T* const k_packed = q_packed + e.query_panel();
  T* const k_transposed = k_packed + e.key_panel();
  T* const v_transposed = k_transposed + e.key_panel();
  T* const grad_packed = v_transposed + e.key_panel();
  T* const p = grad_packed + e.query_panel();
  T* const ds = p + e.scores();
  pack_rows(q.data, q.pitch, e.queries, d, q_packed);
  pack_rows(k.data, k.pitch, e.keys, d, k_packed);
  pack_transposed(k.data, k.pitch, e.keys, d, k_transposed);
  pack_transposed(v.data, v.pitch, e.keys, d, v_transposed);
  pack_rows(dout.data, dout.pitch, e.queries, d, grad_packed);
  std::int64_t const keys = e.keys + attention_pad;
  std::int64_t const blocks = (e.queries + attention_block - 1) / attention_block;
  for (std::int64_t block = blocks; block-- > 0;) {
    std::int64_t const first = block * attention_block;
    std::int64_t const last = std::min(first + attention_block, e.queries);
    std::int64_t const rows = last - first;
    std::int64_t const seen = e.keys_before(last);
    std::int64_t const pitch = seen + attention_pad;
    T const keep = block + 1 == blocks ? T(0) : T(1);
    T const* const q_rows = q_packed + first * d;
    T const* const grad_rows = grad_packed + first * d;
    host::gemm(false, false, rows, seen, d, factor, q_rows, d, k_transposed, keys, T(0), p, pitch);
    host::gemm(false, false, rows, seen, d, T(1), grad_rows, d, v_transposed, keys, T(0), ds,
               pitch);
    for (std::int64_t i = first; i < last; ++i) {
      T const* const left = grad_packed + i * d;
      T const* const right = out.data + i * out.pitch;
      T const dot = reduce_sum<T>(d, [=](std::int64_t c) { return left[c] * right[c]; });
      std::int64_t const row = (i - first) * pitch;
      attention_backward_row(e.seen(i), seen, log_sum_exp[i], dot, p + row, ds + row);
    }
    host::gemm(true, false, seen, d, rows, T(1), p, pitch, grad_rows, d, keep, dv.data, dv.pitch);
    host::gemm(false, false, rows, d, seen, factor, ds, pitch, k_packed, d, T(0),
               dq.data + first * dq.pitch, dq.pitch);
    host::gemm(true, false, seen, d, rows, factor, ds, pitch, q_rows, d, keep, dk.data, dk.pitch);
  }
}

}  // namespace detail

/// Returns the number of elements of the workspace that attention_backward needs.
constexpr std::int64_t attention_backward_workspace(attention_extents const& e) {
  return detail::backward_workspace(detail::head_of(e));
}

/// Computes dqkv, the gradient of qkv. `dout` is the gradient of `out`. `qkv` is the input of the
/// forward pass, and `out` and `log_sum_exp` are its outputs. The workspace has
/// attention_backward_workspace(e) elements.
template <class T>
void attention_backward(T const* dout, T const* qkv, T const* out, T const* log_sum_exp,
                        attention_extents const& e, T* workspace, T* dqkv,
                        std::optional<double> scale = std::nullopt) {
  if (e.sequence == 0) return;
  T const factor = detail::attention_scale<T>(e.head_dim, scale);
  std::int64_t const d = e.head_dim;
  std::int64_t const token = e.heads * 3 * d;
  std::int64_t const step = e.heads * d;  // the distance between two tokens in out and dout
  for (std::int64_t pair = 0; pair < e.batch * e.heads; ++pair) {
    between_blocks();
    std::int64_t const b = pair / e.heads;
    std::int64_t const h = pair % e.heads;
    T const* const q = qkv + b * e.sequence * token + h * 3 * d;
    T* const dq = dqkv + b * e.sequence * token + h * 3 * d;
    std::int64_t const o = b * e.sequence * step + h * d;
    detail::attention_gradient_of_head<T>(
        {dout + o, step}, {q, token}, {q + d, token}, {q + 2 * d, token}, {out + o, step},
        log_sum_exp + pair * e.sequence, detail::head_of(e), factor, workspace, {dq, token},
        {dq + d, token}, {dq + 2 * d, token});
  }
}

}  // namespace ashlar::device::host
