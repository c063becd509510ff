// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reductions over one dim of an array, on a stream (kernel/reduce_dim.hpp). T is an element type of
// tensors: float, double, bfloat16, std::int32_t or std::int64_t.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::cuda {

/// Computes y[o, i] = op over k of x[o, k, i], in accumulation_t<T>, rounded once. x has shape
/// [outer, extent, inner].
template <class T>
void reduce_dim(cudaStream_t stream, reduction op, T const* x, std::int64_t outer,
                std::int64_t extent, std::int64_t inner, T* y);

}  // namespace ashlar::cuda
