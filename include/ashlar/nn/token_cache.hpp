// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The values that the layers of a net keep of the tokens of sequences, so that a pass on the next
// tokens need not compute the earlier tokens again. nn::generator owns these values
// (generator.hpp).
//
// A layer says in layer_spec::cached_values how many elements it keeps of each token. Its cache is
// a tensor with the extents of its x, but `places` tokens in dim 1 and `cached_values` elements in
// the last dim. The cache is placed like x, so its sequences and heads are split as in x.

#include <cstdint>
#include <vector>

namespace ashlar::nn {

struct token_cache {
  std::int64_t tokens = 0;  ///< how many tokens of each sequence were computed
  std::int64_t places = 0;  ///< how many tokens of each sequence can be kept
  /// For each element of the net, this rank's shard of its cache, or null.
  std::vector<void*> shards;

  /// Returns the shard of an element. T is the type that the net computes with.
  template <class T>
  T* shard(int element) const {
    return static_cast<T*>(shards[static_cast<std::size_t>(element)]);
  }
};

/// Returns the position of a pass's first token in its sequence.
constexpr std::int64_t first_position(token_cache const* cache) {
  return cache == nullptr ? 0 : cache->tokens;
}

}  // namespace ashlar::nn
