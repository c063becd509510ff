// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels along the middle dim of an array x [outer, extent, inner], on a CUDA stream
// (kernel/along_dim.hpp). T is float, double, bfloat16, std::int32_t or std::int64_t.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::cuda {

/// Writes to y [outer, inner] the index k of the first largest (`op` is max) or smallest (`op` is
/// min) element of each line x[o, .., i]. A NaN counts as both. Expects extent > 0, unless there
/// are no lines.
template <class T>
void index_of_extremum(cudaStream_t stream, reduction op, T const* x, std::int64_t outer,
                       std::int64_t extent, std::int64_t inner, std::int32_t* y);

/// Writes the cumulative sums of each line to y, which has the extents of x and may be x. The sums
/// begin with the first element of the line, or with the last one if `from_end`. Adds in
/// accumulation_t<T> and rounds each sum once.
template <class T>
void cumulative_sum(cudaStream_t stream, T const* x, std::int64_t outer, std::int64_t extent,
                    std::int64_t inner, bool from_end, T* y);

}  // namespace ashlar::cuda
