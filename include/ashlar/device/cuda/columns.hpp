// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sums over the rows of a rows x cols array, on a stream: the gradient of a bias
// (kernel/columns.hpp).

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
