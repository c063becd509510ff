// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forward pass of multi-head attention on the host, without the projections before and after the
// attention. Q, K and V have one row per token of a head. The scores of all query rows at once
// would take too much memory. So the query rows of a head are processed in blocks:
//
//   for each sequence, head and block of attention_block query rows [first, last)
//     S = scale Q K^T                  with a causal mask only for the keys [0, last)
//     P = e^(S - maximum of the row)   with a causal mask 0 for keys after the row's own token
//     O = P V / sum of the row of P
//     log_sum_exp = maximum + log(sum), which the backward pass needs
//
// attention_extents.hpp describes the arrays. Q, K^T and V of each head are first copied to
// contiguous arrays. The rows of S and K^T are padded by attention_pad elements. Without padding,
// the row strides would often be powers of two, which halves the speed of these small products. The
// backward pass is in attention_backward.hpp.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <ashlar/config.hpp>
#include <ashlar/device/attention_extents.hpp>
#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/device/host/strided_copy.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device::host {

/// The number of query rows of a head that are processed together. With fewer rows, less work is
/// wasted on keys that the causal mask excludes. With more rows, the GEMMs are more efficient.
inline constexpr std::int64_t attention_block = 64;

/// The number of elements by which each row of the scores and of K^T is padded. Without padding,
/// the distances between rows would often be powers of two, which is slow.
inline constexpr std::int64_t attention_pad = 16;

using device::attention_extents;

namespace detail {

using device::attention_scale;

/// Copies a matrix of `rows` rows with d elements to the contiguous array dst. In src, rows start
/// `stride` elements apart.
template <class T>
void pack_rows(T const* src, std::int64_t stride, std::int64_t rows, std::int64_t d, T* dst) {
  std::int64_t const extents[] = {rows, d};
  std::int64_t const from[] = {stride, 1};
  std::int64_t const to[] = {d, 1};
  copy_strided(2, extents, src, from, dst, to);
}

/// Copies the transpose of a matrix of `rows` rows with d elements to dst. In src, rows start
/// `stride` elements apart. dst has d rows of `rows` elements, each followed by attention_pad
/// elements of padding.
template <class T>
void pack_transposed(T const* src, std::int64_t stride, std::int64_t rows, std::int64_t d, T* dst) {
  std::int64_t const extents[] = {d, rows};
  std::int64_t const from[] = {1, stride};
  std::int64_t const to[] = {rows + attention_pad, 1};
  copy_strided(2, extents, src, from, dst, to);
}

}  // namespace detail

namespace detail {

/// Returns the number of elements, with padding, of the packed Q, K, V or gradient of one head.
constexpr std::int64_t attention_panel(attention_extents const& e) {
  return (e.sequence + attention_pad) * e.head_dim;
}

/// Returns the number of elements, with padding, of the scores of one block of query rows.
constexpr std::int64_t attention_scores(attention_extents const& e) {
  return std::min(attention_block, e.sequence) * (e.sequence + attention_pad);
}

}  // namespace detail

/// Returns the number of elements of the workspace that attention_forward needs.
constexpr std::int64_t attention_forward_workspace(attention_extents const& e) {
  return 3 * detail::attention_panel(e) + detail::attention_scores(e);
}

/// Computes out and log_sum_exp from qkv (attention_extents.hpp). The workspace has
/// attention_forward_workspace(e) elements. The default scale is 1 / sqrt(head_dim).
template <class T>
void attention_forward(T const* qkv, attention_extents const& e, T* workspace, T* out,
                       T* log_sum_exp, std::optional<double> scale = std::nullopt) {
  T const factor = detail::attention_scale<T>(e, scale);
  std::int64_t const d = e.head_dim;
  std::int64_t const token = e.heads * 3 * d;  // the distance between two tokens in qkv
  T* const q_packed = workspace;
  T* const k_transposed = q_packed + detail::attention_panel(e);
  T* const v_packed = k_transposed + detail::attention_panel(e);
  T* const scores = v_packed + detail::attention_panel(e);
  for (std::int64_t pair = 0; pair < e.batch * e.heads; ++pair) {
    between_blocks();
    std::int64_t const b = pair / e.heads;
    std::int64_t const h = pair % e.heads;
    T const* const q = qkv + b * e.sequence * token + h * 3 * d;
    T* const o = out + (b * e.sequence * e.heads + h) * d;
    detail::pack_rows(q, token, e.sequence, d, q_packed);
    detail::pack_transposed(q + d, token, e.sequence, d, k_transposed);
    detail::pack_rows(q + 2 * d, token, e.sequence, d, v_packed);
    for (std::int64_t first = 0; first < e.sequence; first += attention_block) {
      std::int64_t const last = std::min(first + attention_block, e.sequence);
      std::int64_t const keys = e.keys(last);
      std::int64_t const pitch = keys + attention_pad;
      gemm(false, false, last - first, keys, d, factor, q_packed + first * d, d, k_transposed,
           e.sequence + attention_pad, T(0), scores, pitch);
      T inverse[attention_block];
      for (std::int64_t i = first; i < last; ++i) {
        T* const row = scores + (i - first) * pitch;
        std::int64_t const seen = e.seen(i);
        T const peak = reduce_max<T>(seen, [row](std::int64_t j) { return row[j]; });
        T const sum = reduce_sum<T>(seen, [row, peak](std::int64_t j) {
          T const value = math::exp(row[j] - peak);
          row[j] = value;
          return value;
        });
        std::fill(row + seen, row + keys, T(0));
        inverse[i - first] = T(1) / sum;
        log_sum_exp[pair * e.sequence + i] = peak + std::log(sum);
      }
      gemm(false, false, last - first, d, keys, T(1), scores, pitch, v_packed, d, T(0),
           o + first * e.heads * d, e.heads * d);
      for (std::int64_t i = first; i < last; ++i) {
        scale_inplace(inverse[i - first], d, o + i * e.heads * d);
      }
    }
  }
}

}  // namespace ashlar::device::host
