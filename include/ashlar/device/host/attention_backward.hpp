// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Causal multi-head attention, backward, with the probabilities made again from the saved
// log-sum-exp. Layouts are those of attention.hpp. For each block of query rows [first, last) and
// keys [0, last):
//
//   P  = e^(scale Q K^T - log_sum_exp)        dV += P^T dO
//   dS = P * (dO V^T - dot(dO, O))            dQ  = scale dS K,  dK += scale dS^T Q
//
// Blocks run from the last to the first: the last one reaches every key, so its dK and dV are
// assigned and the others are added, and no pass clears them. dqkv is overwritten, not accumulated.

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

/// Elements of workspace that attention_backward needs.
constexpr std::int64_t attention_backward_workspace(attention_extents const& e) {
  return 2 * std::min(attention_block, e.sequence) * e.sequence;
}

namespace detail {

/// One row: probabilities from scores, and dscores from dprobabilities; zero beyond `seen`.
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

/// dqkv from dout and what the forward pass read and wrote.
template <class T>
void attention_backward(T const* dout, T const* qkv, T const* out, T const* log_sum_exp,
                        attention_extents const& e, T* workspace, T* dqkv,
                        std::optional<double> scale = std::nullopt) {
  if (e.sequence == 0) return;
  T const factor = detail::attention_scale<T>(e, scale);
  std::int64_t const d = e.head_dim;
  std::int64_t const token = e.heads * 3 * d;
  std::int64_t const step = e.heads * d;  // from one token's output to the next one's
  T* const p = workspace;
  T* const ds = workspace + attention_backward_workspace(e) / 2;
  for (std::int64_t pair = 0; pair < e.batch * e.heads; ++pair) {
    std::int64_t const b = pair / e.heads;
    std::int64_t const h = pair % e.heads;
    std::int64_t const packed = b * e.sequence * token + h * 3 * d;
    T const* const q = qkv + packed;
    T* const dq = dqkv + packed;
    T const* const o = out + b * e.sequence * step + h * d;
    T const* const grad = dout + b * e.sequence * step + h * d;
    std::int64_t const blocks = (e.sequence + attention_block - 1) / attention_block;
    for (std::int64_t block = blocks; block-- > 0;) {
      std::int64_t const first = block * attention_block;
      std::int64_t const last = std::min(first + attention_block, e.sequence);
      std::int64_t const rows = last - first;
      T const keep = block + 1 == blocks ? T(0) : T(1);
      gemm(false, true, rows, last, d, factor, q + first * token, token, q + d, token, T(0), p,
           last);
      gemm(false, true, rows, last, d, T(1), grad + first * step, step, q + 2 * d, token, T(0), ds,
           last);
      for (std::int64_t i = first; i < last; ++i) {
        T const* const left = grad + i * step;
        T const* const right = o + i * step;
        T const dot = reduce_sum<T>(d, [=](std::int64_t c) { return left[c] * right[c]; });
        std::int64_t const row = (i - first) * last;
        detail::attention_backward_row(i + 1, last, log_sum_exp[pair * e.sequence + i], dot,
                                       p + row, ds + row);
      }
      gemm(true, false, last, d, rows, T(1), p, last, grad + first * step, step, keep, dq + 2 * d,
           token);
      gemm(false, false, rows, d, last, factor, ds, last, q + d, token, T(0), dq + first * token,
           token);
      gemm(true, false, last, d, rows, factor, ds, last, q + first * token, token, keep, dq + d,
           token);
    }
  }
}

}  // namespace ashlar::device::host
