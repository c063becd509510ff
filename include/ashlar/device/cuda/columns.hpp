// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sums of the columns of an array, on a CUDA stream (kernel/columns.hpp). The gradient of a bias is
// such a sum.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/columns.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Adds the sum of each column of x [rows, cols] to sum [cols], in a fixed order. The workspace has
/// column_sums_workspace(rows, cols, 1) elements.
template <class T>
void add_column_sums(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
                     accumulation_t<T>* workspace, accumulation_t<T>* sum);

}  // namespace ashlar::cuda
