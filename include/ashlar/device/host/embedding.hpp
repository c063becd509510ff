// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Looks up rows of a table by integer ids. The local table is a shard: rows [first_row, first_row +
// rows) of the vocabulary and `cols` columns. An id outside the shard gives a zero row and no
// gradient. So the sum over the shards of a split vocabulary is the complete result.
//
//   embedding_forward         y[t] = table[ids[t] - first_row], or 0 outside the shard
//   embedding_backward        dtable[ids[t] - first_row] += dy[t]
//   add_positions             y[t] += positions[(first_token + t) % sequence]
//   add_positions_backward    dpositions[(first_token + t) % sequence] += dy[t]
//
// Positions have their own functions. With a split vocabulary they must be added only once, either
// by one rank or to the sum over the ranks. Ids are not checked: an id that is in no shard gives a
// zero row.

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/map.hpp>

namespace ashlar::device::host {

/// Computes y [tokens, cols] from a shard [rows, cols] of the table and ids [tokens].
template <class T>
void embedding_forward(T const* table, std::int64_t first_row, std::int64_t rows, std::int64_t cols,
                       std::int32_t const* ids, std::int64_t tokens, T* y) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::int64_t const row = ids[t] - first_row;
    if (row >= 0 && row < rows) {
      std::copy_n(table + row * cols, cols, y + t * cols);
    } else {
      std::fill_n(y + t * cols, cols, T(0));
    }
  }
}

/// Adds the rows of dy [tokens, cols] whose ids are in the shard to dtable [rows, cols].
template <class T>
void embedding_backward(T const* dy, std::int32_t const* ids, std::int64_t tokens,
                        std::int64_t first_row, std::int64_t rows, std::int64_t cols, T* dtable) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::int64_t const row = ids[t] - first_row;
    if (row >= 0 && row < rows) add_inplace(dy + t * cols, cols, dtable + row * cols);
  }
}

/// Adds positions [sequence, cols] to y [tokens, cols]. `first_token` is the global index of the
/// first token.
template <class T>
void add_positions(T const* positions, std::int64_t sequence, std::int64_t cols,
                   std::int64_t first_token, std::int64_t tokens, T* y) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(positions + ((first_token + t) % sequence) * cols, cols, y + t * cols);
  }
}

/// Adds the gradients of the tokens at each position to dpositions [sequence, cols].
template <class T>
void add_positions_backward(T const* dy, std::int64_t sequence, std::int64_t cols,
                            std::int64_t first_token, std::int64_t tokens, T* dpositions) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(dy + t * cols, cols, dpositions + ((first_token + t) % sequence) * cols);
  }
}

}  // namespace ashlar::device::host
