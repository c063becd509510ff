// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The extents and the layout of the arrays of multi-head attention. The layout is the same for
// every processor:
//
//   qkv          [batch, sequence, heads, 3, head_dim]
//   out          [batch, sequence, heads, head_dim]
//   log_sum_exp  [batch, heads, sequence]
//
// All arrays are contiguous and row-major. In qkv, the q, k and v of one token and head are
// adjacent. So a mesh axis can split the heads by splitting the columns of qkv, read as a matrix
// with one row for each token. `heads` is the number of heads on this rank. Heads are computed
// independently of one another.

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

  /// Returns the number of keys that query row `i` attends to.
  ASHLAR_HD constexpr std::int64_t seen(std::int64_t i) const { return causal ? i + 1 : sequence; }
  /// Returns the number of keys that the query rows [0, last) attend to. These keys are the first
  /// ones of the sequence.
  ASHLAR_HD constexpr std::int64_t keys(std::int64_t last) const {
    return causal ? last : sequence;
  }
};

/// Returns the factor by which attention scores are multiplied: `scale` if it is given, otherwise
/// 1 / sqrt(head_dim).
template <class T>
T attention_scale(std::int64_t head_dim, std::optional<double> scale = std::nullopt) {
  return static_cast<T>(scale ? *scale : 1.0 / std::sqrt(static_cast<double>(head_dim)));
}

}  // namespace ashlar::device
