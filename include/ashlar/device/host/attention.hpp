// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forward pass of multi-head attention on the host, without the projections before and after the
// attention. Q, K and V have one row per token of a head. The scores of all query rows at once
// would take too much memory. So the query rows of a head are processed in blocks:
//
//   for each sequence, head and block of attention_block query rows [first, last)
//     S = scale Q K^T                  for all keys; with a causal mask: for the keys [0, last)
//     P = e^(S - maximum of the row)   with a causal mask: 0 for keys after the row's own token
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

/// The number of elements by which each row of the scores and of K^T is padded.
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

/// The extents of the attention of one head: its numbers of queries and of keys, and head_dim, the
/// number of elements of each query, key and value. A query "sees" the keys that it attends to.
struct head_extents {
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t head_dim;
  /// Says whether a query sees only the keys up to its own token. The queries belong to the last
  /// tokens of the sequence, so the last query sees all keys.
  bool causal = false;

  constexpr std::int64_t seen(std::int64_t i) const {
    return causal ? keys - queries + i + 1 : keys;
  }
  /// Returns the number of keys that the query rows [0, last) may see.
  constexpr std::int64_t keys_before(std::int64_t last) const {
    return causal ? keys - queries + last : keys;
  }
  /// Returns the number of workspace elements for the packed Q, or for the packed gradient of the
  /// output.
  constexpr std::int64_t query_panel() const { return (queries + attention_pad) * head_dim; }
  /// Returns the number of workspace elements for the packed K or V, or for K^T or V^T with padded
  /// rows.
  constexpr std::int64_t key_panel() const { return (keys + attention_pad) * head_dim; }
  /// Returns the number of workspace elements for the scores of one block of query rows, with
  /// padded rows.
  constexpr std::int64_t scores() const {
    return std::min(attention_block, queries) * (keys + attention_pad);
  }
};

constexpr head_extents head_of(attention_extents const& e) {
  return {e.sequence, e.sequence, e.head_dim, e.causal};
}

/// Returns the number of elements of the workspace that attention_of_head needs.
constexpr std::int64_t forward_workspace(head_extents const& e) {
  return e.query_panel() + 2 * e.key_panel() + e.scores();
}

/// A matrix with one row per token of a head. Rows start `pitch` elements apart.
template <class T>
struct head_rows {
  T* data;
  std::int64_t pitch;
};

/// Computes `out` and `log_sum_exp` of one head. The workspace has forward_workspace(e) elements.
template <class T>
void attention_of_head(head_rows<T const> q, head_rows<T const> k, head_rows<T const> v,
                       head_extents const& e, T factor, T* workspace, head_rows<T> out,
                       T* log_sum_exp) {
  std::int64_t const d = e.head_dim;
  T* const q_packed = workspace;
  T* const k_transposed = q_packed + e.query_panel();
  T* const v_packed = k_transposed + e.key_panel();
  T* const scores = v_packed + e.key_panel();
  pack_rows(q.data, q.pitch, e.queries, d, q_packed);
  pack_transposed(k.data, k.pitch, e.keys, d, k_transposed);
  pack_rows(v.data, v.pitch, e.keys, d, v_packed);
  for (std::int64_t first = 0; first < e.queries; first += attention_block) {
    std::int64_t const last = std::min(first + attention_block, e.queries);
    std::int64_t const keys = e.keys_before(last);
    std::int64_t const pitch = keys + attention_pad;
    host::gemm(false, false, last - first, keys, d, factor, q_packed + first * d, d, k_transposed,
               e.keys + attention_pad, T(0), scores, pitch);
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
      log_sum_exp[i] = peak + std::log(sum);
    }
    host::gemm(false, false, last - first, d, keys, T(1), scores, pitch, v_packed, d, T(0),
               out.data + first * out.pitch, out.pitch);
    for (std::int64_t i = first; i < last; ++i)
      scale_inplace(inverse[i - first], d, out.data + i * out.pitch);
  }
}

}  // namespace detail

/// Returns the number of elements of the workspace that attention_forward needs.
constexpr std::int64_t attention_forward_workspace(attention_extents const& e) {
  return detail::forward_workspace(detail::head_of(e));
}

/// Computes out and log_sum_exp from qkv (attention_extents.hpp). The workspace has
/// attention_forward_workspace(e) elements. The default scale is 1 / sqrt(head_dim).
template <class T>
void attention_forward(T const* qkv, attention_extents const& e, T* workspace, T* out,
                       T* log_sum_exp, std::optional<double> scale = std::nullopt) {
  T const factor = detail::attention_scale<T>(e.head_dim, scale);
  std::int64_t const d = e.head_dim;
  std::int64_t const token = e.heads * 3 * d;  // the distance between two tokens in qkv
  for (std::int64_t pair = 0; pair < e.batch * e.heads; ++pair) {
    between_blocks();
    std::int64_t const b = pair / e.heads;
    std::int64_t const h = pair % e.heads;
    T const* const q = qkv + b * e.sequence * token + h * 3 * d;
    detail::attention_of_head<T>(
        {q, token}, {q + d, token}, {q + 2 * d, token}, detail::head_of(e), factor, workspace,
        {out + (b * e.sequence * e.heads + h) * d, e.heads * d}, log_sum_exp + pair * e.sequence);
  }
}

}  // namespace ashlar::device::host
