// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The extents and the layout of the arrays of multi-head attention, the same on every processor:
//
//   qkv          [batch, sequence, heads, 3, head_dim]
//   out          [batch, sequence, heads, head_dim]
//   log_sum_exp  [batch, heads, sequence]
//
// All are contiguous. In qkv, the q, k and v of one token and head are adjacent, so that heads can
// be split like columns. `heads` is the number of local heads. Each head is computed independently
// of the others.

#include <cmath>
#include <cstdint>
#include <optional>

#include <ashlar/config.hpp>

namespace ashlar::device {

struct attention_extents {
  std::int64_t batch;
  std::int64_t sequence;
  std::int64_t heads;
  std::int64_t head_dim;
  bool causal = true;  ///< a token attends only to itself and to earlier tokens

  /// `seen` returns the number of keys that query row `i` attends to. `keys` returns the number
  /// that any query row before `last` attends to.
  ASHLAR_HD constexpr std::int64_t seen(std::int64_t i) const { return causal ? i + 1 : sequence; }
  ASHLAR_HD constexpr std::int64_t keys(std::int64_t last) const {
    return causal ? last : sequence;
  }
};

/// Returns the factor by which the scores are multiplied: 1 / sqrt(head_dim) unless `scale` is
/// given.
template <class T>
T attention_scale(attention_extents const& e, std::optional<double> scale) {
  return static_cast<T>(scale ? *scale : 1.0 / std::sqrt(static_cast<double>(e.head_dim)));
}

}  // namespace ashlar::device
