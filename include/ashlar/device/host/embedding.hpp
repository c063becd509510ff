// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Rows of a table chosen by integer ids. The table is a shard: rows [first_row, first_row + rows) of
// the vocabulary, `cols` local columns. An id outside the shard gives a zero row and no gradient, so
// that the sum over the shards of a split vocabulary is the whole result.
//
//   embedding_forward         y[t] = table[ids[t] - first_row], or 0
//   embedding_backward        dtable[ids[t] - first_row] += dy[t]
//   add_positions             y[t] += positions[(first_token + t) % sequence]
//   add_positions_backward    dpositions[(first_token + t) % sequence] += dy[t]
//
// Positions are apart, for with a split vocabulary only one rank (or the sum) may add them. Ids are
// not checked against the whole vocabulary: an id that no shard has is a zero row.

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/map.hpp>

namespace ashlar::device::host {

/// y [tokens, cols] from a shard [rows, cols] of the table and ids [tokens].
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

/// dtable [rows, cols] += the rows of dy [tokens, cols] whose ids are in the shard.
template <class T>
void embedding_backward(T const* dy, std::int32_t const* ids, std::int64_t tokens,
                        std::int64_t first_row, std::int64_t rows, std::int64_t cols, T* dtable) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::int64_t const row = ids[t] - first_row;
    if (row >= 0 && row < rows) add_inplace(dy + t * cols, cols, dtable + row * cols);
  }
}

/// positions is sequence x cols; first_token is the global number of the first of the tokens.
template <class T>
void add_positions(T const* positions, std::int64_t sequence, std::int64_t cols,
                   std::int64_t first_token, std::int64_t tokens, T* y) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(positions + ((first_token + t) % sequence) * cols, cols, y + t * cols);
  }
}

/// dpositions [sequence, cols] += the gradients of the tokens at each place.
template <class T>
void add_positions_backward(T const* dy, std::int64_t sequence, std::int64_t cols,
                            std::int64_t first_token, std::int64_t tokens, T* dpositions) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(dy + t * cols, cols, dpositions + ((first_token + t) % sequence) * cols);
  }
}

}  // namespace ashlar::device::host
