// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The arrays of multi-head attention, the same on every kind of processor:
//
//   qkv          [batch, sequence, heads, 3, head_dim]   contiguous: a token's q, k and v of one head
//                                                        are neighbours, and heads split as columns
//   out          [batch, sequence, heads, head_dim]
//   log_sum_exp  [batch, heads, sequence]
//
// `heads` are the local ones; heads do not mix.

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
  bool causal = true;  ///< a token sees those up to itself; else the whole sequence

  /// Keys that row `i` of the scores sees, and those that any row before `last` sees.
  ASHLAR_HD constexpr std::int64_t seen(std::int64_t i) const { return causal ? i + 1 : sequence; }
  ASHLAR_HD constexpr std::int64_t keys(std::int64_t last) const {
    return causal ? last : sequence;
  }
};

/// What scores are multiplied by: 1 / sqrt(head_dim) unless given.
template <class T>
T attention_scale(attention_extents const& e, std::optional<double> scale) {
  return static_cast<T>(scale ? *scale : 1.0 / std::sqrt(static_cast<double>(e.head_dim)));
}

}  // namespace ashlar::device
