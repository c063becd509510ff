// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/embedding.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/embedding.hpp>
#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/embedding_backward.hpp>

namespace ashlar::cuda {

template <class T>
void embedding_forward(cudaStream_t stream, T const* table, std::int64_t first_row,
                       std::int64_t rows, std::int64_t cols, std::int32_t const* ids,
                       std::int64_t tokens, T* y) {
  embedding_forward(device_launcher(stream), table, first_row, rows, cols, ids, tokens, y);
}

template <class T>
void embedding_backward(cudaStream_t stream, T const* dy, std::int32_t const* ids,
                        std::int64_t tokens, std::int64_t first_row, std::int64_t rows,
                        std::int64_t cols, std::int32_t* workspace, accumulation_t<T>* dtable) {
  embedding_backward(device_launcher(stream), dy, ids, tokens, first_row, rows, cols, workspace,
                     dtable);
}

template <class T>
void add_positions(cudaStream_t stream, T const* positions, std::int64_t sequence,
                   std::int64_t cols, std::int64_t first_token, std::int64_t tokens, T* y) {
  add_positions(device_launcher(stream), positions, sequence, cols, first_token, tokens, y);
}

template <class T>
void add_positions_backward(cudaStream_t stream, T const* dy, std::int64_t sequence,
                            std::int64_t cols, std::int64_t first_token, std::int64_t tokens,
                            accumulation_t<T>* dpositions) {
  add_positions_backward(device_launcher(stream), dy, sequence, cols, first_token, tokens,
                         dpositions);
}

template void embedding_forward(cudaStream_t, float const*, std::int64_t, std::int64_t,
                                std::int64_t, std::int32_t const*, std::int64_t, float*);
template void embedding_backward(cudaStream_t, float const*, std::int32_t const*, std::int64_t,
                                 std::int64_t, std::int64_t, std::int64_t, std::int32_t*, float*);
template void add_positions(cudaStream_t, float const*, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, float*);
template void add_positions_backward(cudaStream_t, float const*, std::int64_t, std::int64_t,
                                     std::int64_t, std::int64_t, float*);

template void embedding_forward(cudaStream_t, double const*, std::int64_t, std::int64_t,
                                std::int64_t, std::int32_t const*, std::int64_t, double*);
template void embedding_backward(cudaStream_t, double const*, std::int32_t const*, std::int64_t,
                                 std::int64_t, std::int64_t, std::int64_t, std::int32_t*, double*);
template void add_positions(cudaStream_t, double const*, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, double*);
template void add_positions_backward(cudaStream_t, double const*, std::int64_t, std::int64_t,
                                     std::int64_t, std::int64_t, double*);

template void embedding_forward(cudaStream_t, bfloat16 const*, std::int64_t, std::int64_t,
                                std::int64_t, std::int32_t const*, std::int64_t, bfloat16*);
template void embedding_backward(cudaStream_t, bfloat16 const*, std::int32_t const*, std::int64_t,
                                 std::int64_t, std::int64_t, std::int64_t, std::int32_t*, float*);
template void add_positions(cudaStream_t, bfloat16 const*, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, bfloat16*);
template void add_positions_backward(cudaStream_t, bfloat16 const*, std::int64_t, std::int64_t,
                                     std::int64_t, std::int64_t, float*);

}  // namespace ashlar::cuda
