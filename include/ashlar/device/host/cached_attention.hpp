// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forward pass of causal attention for the next tokens of sequences, on the host. A cache holds the
// keys and values of all earlier tokens, so that only the rows of the new tokens are computed:
//
//   qkv    [batch, sequence, groups, queries + 2, head_dim]   the new tokens
//   cache  [batch, places, groups, 2, head_dim]               the key and the value of each token
//   out    [batch, sequence, groups, queries, head_dim]
//
// The pass writes the keys and values of the new tokens to the cache, after the keys and values of
// the earlier tokens. If keys are rotated by their positions (rotary.hpp), the cache holds rotated
// keys. The position of a token never changes, so a key is rotated only once. grouped_attention.hpp
// describes groups. Attention without groups is the case of one query head per group.

#include <algorithm>

#include <ashlar/device/host/grouped_attention.hpp>

namespace ashlar::device::host {

struct cached_tokens {
  std::int64_t before;  ///< how many tokens of each sequence the cache holds before the pass
  std::int64_t places;  ///< for how many tokens of each sequence the cache has room
};

namespace detail {

constexpr head_extents head_of(grouped_extents const& e, std::int64_t keys) {
  return {e.sequence, keys, e.head_dim, true};
}

}  // namespace detail

/// Returns the number of elements of the workspace that cached_attention_forward needs, for any
/// number of tokens in the cache.
constexpr std::int64_t cached_attention_workspace(grouped_extents const& e, std::int64_t places) {
  return e.turned_elements() + detail::forward_workspace(detail::head_of(e, places));
}

/// Computes out and log_sum_exp [batch, groups, queries, sequence] from qkv and the cache, and adds
/// the new tokens to the cache. The workspace has cached_attention_workspace(e, at.places)
/// elements. Scores are multiplied by 1 / sqrt(head_dim). Expects that the cache has places for the
/// new tokens.
template <class T>
void cached_attention_forward(T const* qkv, grouped_extents const& e, cached_tokens at,
                              T* workspace, T* cache, T* out, T* log_sum_exp) {
  std::int64_t const d = e.head_dim, token = e.groups * 2 * d;
  T const factor = detail::attention_scale<T>(d);
  auto const extents = detail::head_of(e, at.before + e.sequence);
  detail::group_rows<T> rows(e, workspace, at.before);
  for (std::int64_t pair = 0; pair < e.batch * e.groups; ++pair) {
    std::int64_t const b = pair / e.groups, group = pair % e.groups;
    rows.take(qkv + b * e.sequence * e.token() + group * (e.queries + 2) * d);
    T* const keys = cache + b * at.places * token + group * 2 * d;
    auto const key = rows.key(), value = rows.value();
    for (std::int64_t i = 0; i < e.sequence; ++i) {
      T* const place = keys + (at.before + i) * token;
      std::copy_n(key.data + i * key.pitch, d, place);
      std::copy_n(value.data + i * value.pitch, d, place + d);
    }
    for (std::int64_t head = 0; head < e.queries; ++head) {
      between_blocks();
      T* const o = out + b * e.sequence * e.out_token() + (group * e.queries + head) * d;
      detail::attention_of_head<T>(rows.turned(head), {keys, token}, {keys + d, token}, extents,
                                   factor, workspace + e.turned_elements(), {o, e.out_token()},
                                   log_sum_exp + (pair * e.queries + head) * e.sequence);
    }
  }
}

}  // namespace ashlar::device::host
