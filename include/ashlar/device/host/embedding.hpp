// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Embedding: looks up rows of a table by integer ids. If the rows of the table are split over
// ranks, `table` is the shard of one rank: the rows [first_row, first_row + rows) with `cols`
// columns. An id whose row is not in the shard gives a zero row, and the gradient of this zero row
// is ignored. So the sum of the results of all ranks is the complete result.
//
//   embedding_forward         y[t] = table[ids[t] - first_row], or 0 if the row is not in the shard
//   embedding_backward        dtable[ids[t] - first_row] += dy[t], if the row is in the shard
//   add_positions             y[t] += positions[(first_token + t) % sequence]
//   add_positions_backward    dpositions[(first_token + t) % sequence] += dy[t]
//
// add_positions is a separate function, because positions must be added only once: by one rank, or
// to the sum over the ranks. Ids are not checked: an id outside the complete table gives a zero
// row.

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/map.hpp>

namespace ashlar::device::host {

/// Computes y [tokens, cols]: row t of y is row ids[t] of the complete table. `table` has the rows
/// [first_row, first_row + rows). Ids of other rows give zeros.
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

/// Adds dy[t] to the gradient of table row ids[t], for each token t whose row is in the shard. The
/// shard has the rows [first_row, first_row + rows) of the table. row_of(i) returns a pointer to
/// the gradient of row i of the shard.
template <class T, class RowOf>
  requires requires(RowOf row_of) { *row_of(std::int64_t()) += T(); }
void embedding_backward(T const* dy, std::int32_t const* ids, std::int64_t tokens,
                        std::int64_t first_row, std::int64_t rows, std::int64_t cols,
                        RowOf row_of) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::int64_t const row = ids[t] - first_row;
    if (row >= 0 && row < rows) add_inplace(dy + t * cols, cols, row_of(row));
  }
}

/// Adds dy[t] to the gradient of table row ids[t], for each token t. `dtable` has the rows
/// [first_row, first_row + rows). Ids of other rows are ignored.
template <class T>
void embedding_backward(T const* dy, std::int32_t const* ids, std::int64_t tokens,
                        std::int64_t first_row, std::int64_t rows, std::int64_t cols, T* dtable) {
  embedding_backward(dy, ids, tokens, first_row, rows, cols,
                     [=](std::int64_t row) { return dtable + row * cols; });
}

/// Computes y[t] += positions[(first_token + t) % sequence] for each row t of y [tokens, cols]. Row
/// t belongs to token first_token + t. The tokens of all sequences are numbered consecutively, so
/// the remainder is the position of the token in its sequence. `positions` is [sequence, cols].
template <class T>
void add_positions(T const* positions, std::int64_t sequence, std::int64_t cols,
                   std::int64_t first_token, std::int64_t tokens, T* y) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(positions + ((first_token + t) % sequence) * cols, cols, y + t * cols);
  }
}

/// Computes dpositions[(first_token + t) % sequence] += dy[t] for each row t of dy [tokens, cols].
/// The remainder is the position of token first_token + t in its sequence. `dpositions` is
/// [sequence, cols].
template <class T>
void add_positions_backward(T const* dy, std::int64_t sequence, std::int64_t cols,
                            std::int64_t first_token, std::int64_t tokens, T* dpositions) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    add_inplace(dy + t * cols, cols, dpositions + ((first_token + t) % sequence) * cols);
  }
}

}  // namespace ashlar::device::host
