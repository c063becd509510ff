// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The sum of the squares of an array on a stream, in double and in a fixed order (kernel/sum.hpp).

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/sum.hpp>

namespace ashlar::cuda {

/// *sum = the sum of x[i]^2, 0 <= i < n, in device memory; workspace: sum_of_squares_workspace
/// elements. T is float, double or bfloat16.
template <class T>
void sum_of_squares(cudaStream_t stream, T const* x, std::int64_t n, double* workspace,
                    double* sum);

}  // namespace ashlar::cuda
