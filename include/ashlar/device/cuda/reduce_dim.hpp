// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reductions over one dim of an array, on a CUDA stream (kernel/reduce_dim.hpp). T is float,
// double, bfloat16, std::int32_t or std::int64_t.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::cuda {

/// Reduces the middle dim of x [outer, extent, inner]: y[o, i] is the reduction of x[o, k, i] over
/// k. Computes in accumulation_t<T> and rounds once.
template <class T>
void reduce_dim(cudaStream_t stream, reduction op, T const* x, std::int64_t outer,
                std::int64_t extent, std::int64_t inner, T* y);

}  // namespace ashlar::cuda
