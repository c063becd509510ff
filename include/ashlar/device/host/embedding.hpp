// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Embedding: looks up rows of a table by integer ids. `table` is this rank's shard of the complete
// table, with the rows [first_row, first_row + rows) and `cols` columns. An id whose row is not in
// the shard gives a zero row, and its gradient is ignored. So if the rows are split over ranks, the
// sum of the ranks' results is the complete result.
//
//   embedding_forward         y[t] = table[ids[t] - first_row], or 0 if the row is not in the shard
//   embedding_backward        dtable[ids[t] - first_row] += dy[t], if the row is in the shard
//   add_positions             y[t] += positions[(first_token + t) % sequence]
//   add_positions_backward    dpositions[(first_token + t) % sequence] += dy[t]
//
// The embeddings of positions are added by separate functions: if the rows of the table are split
// over ranks, positions must be added only once, either by one rank or to the sum over the ranks.
// Ids are not checked: an id outside the complete table gives a zero row.

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

/// Adds the rows of positions [sequence, cols] to y [tokens, cols]. `first_token` is the global
/// index of the first row of y. The tokens of all sequences are numbered consecutively.
template <class T>
void add_positions(T const* positions, std::int64_t sequence, std::int64_t cols,
                   std::int64_t first_token, std::int64_t tokens, T* y) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(positions + ((first_token + t) % sequence) * cols, cols, y + t * cols);
  }
}

/// Adds each row of dy [tokens, cols] to the row of dpositions [sequence, cols] of its position.
template <class T>
void add_positions_backward(T const* dy, std::int64_t sequence, std::int64_t cols,
                            std::int64_t first_token, std::int64_t tokens, T* dpositions) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(dy + t * cols, cols, dpositions + ((first_token + t) % sequence) * cols);
  }
}

}  // namespace ashlar::device::host
