// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernel that chooses between two operands, on a CUDA stream (kernel/select.hpp). The element
// types M of the mask and T of the operands are any two of float, double, bfloat16, std::int32_t
// and std::int64_t.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/device/elements_or_number.hpp>

namespace ashlar::cuda {

/// Computes z[i] = x[i] where mask[i] is not 0, and z[i] = y[i] elsewhere, for 0 <= i < n.
template <class M, class T>
void select_elements(cudaStream_t stream, M const* mask, device::elements_or_number<T> const& x,
                     device::elements_or_number<T> const& y, std::int64_t n, T* z);

}  // namespace ashlar::cuda
