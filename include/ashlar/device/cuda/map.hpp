// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise kernels on a stream (what they do: kernel/map.hpp). T is float, double or bfloat16, f an
// object of kernel/map_functors.hpp of accumulation_t<T>; of integers scaled, sum_of, difference_of,
// product_of and relu's value. Nothing here waits for the device.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/map_functors.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

/// y[i] = f(x[i]), 0 <= i < n; y may be x.
template <class F, class T>
void map(cudaStream_t stream, F const& f, T const* x, std::int64_t n, T* y);

/// y[i] = f(a[i], b[i]), 0 <= i < n; y may be a or b.
template <class F, class T>
void map(cudaStream_t stream, F const& f, T const* a, T const* b, std::int64_t n, T* y);

/// y[r, c] += bias[c] of rows x cols.
template <class T>
void add_bias(cudaStream_t stream, T const* bias, std::int64_t rows, std::int64_t cols, T* y);

/// dst[i] = src[i], rounded to nearest: between float, double and bfloat16, and between integers.
template <class From, class To>
void convert(cudaStream_t stream, From const* src, std::int64_t n, To* dst);

/// dst[i] = src[i], exactly.
void widen(cudaStream_t stream, bfloat16 const* src, std::int64_t n, float* dst);

/// dst[i] = src[i], to nearest, ties to even.
void narrow(cudaStream_t stream, float const* src, std::int64_t n, bfloat16* dst);

/// y[i] = value.
template <class T>
void fill(cudaStream_t stream, std::type_identity_t<T> value, std::int64_t n, T* y);

}  // namespace ashlar::cuda
