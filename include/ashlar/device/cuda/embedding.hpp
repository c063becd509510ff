// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Looks up table rows by integer ids, on a CUDA stream (kernel/embedding.hpp). A rank has a shard
// of the table: `rows` rows, starting at first_row. Ids of other rows yield zero rows and no
// gradient. T is float, double or bfloat16. Gradients of tables are of type accumulation_t<T> and
// are accumulated in the order of the tokens. There are at most 2^31 - 1 tokens.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/embedding_backward.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes y[t] = table[ids[t] - first_row] for each token t. Ids outside [first_row, first_row +
/// rows) belong to other ranks and give zeros.
template <class T>
void embedding_forward(cudaStream_t stream, T const* table, std::int64_t first_row,
                       std::int64_t rows, std::int64_t cols, std::int32_t const* ids,
                       std::int64_t tokens, T* y);

/// Computes dtable[ids[t] - first_row] += dy[t] for each token t. Ids outside [first_row, first_row
/// + rows) belong to other ranks and are ignored. The workspace has
/// embedding_backward_workspace(rows, tokens) elements.
template <class T>
void embedding_backward(cudaStream_t stream, T const* dy, std::int32_t const* ids,
                        std::int64_t tokens, std::int64_t first_row, std::int64_t rows,
                        std::int64_t cols, std::int32_t* workspace, accumulation_t<T>* dtable);

/// Adds to each token's row of y the embedding of its position: y[t] += positions[(first_token + t)
/// % sequence].
template <class T>
void add_positions(cudaStream_t stream, T const* positions, std::int64_t sequence,
                   std::int64_t cols, std::int64_t first_token, std::int64_t tokens, T* y);

/// Adds the gradients of position embeddings: dpositions[(first_token + t) % sequence] += dy[t].
template <class T>
void add_positions_backward(cudaStream_t stream, T const* dy, std::int64_t sequence,
                            std::int64_t cols, std::int64_t first_token, std::int64_t tokens,
                            accumulation_t<T>* dpositions);

}  // namespace ashlar::cuda
