// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sums of the elements of an array or of their squares, on a CUDA stream. The sums are computed in
// double, in a fixed order (kernel/sum.hpp), and added to a number in device memory. T is float,
// double or bfloat16. `workspace` points to sum_workspace elements in device memory.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/sum.hpp>

namespace ashlar::cuda {

/// Adds the sum of x[i]^2 for 0 <= i < n to *total, in device memory.
template <class T>
void add_sum_of_squares(cudaStream_t stream, T const* x, std::int64_t n, double* workspace,
                        double* total);

/// Adds the sum of x[i] for 0 <= i < n to *total, in device memory.
template <class T>
void add_sum(cudaStream_t stream, T const* x, std::int64_t n, double* workspace, double* total);

}  // namespace ashlar::cuda
