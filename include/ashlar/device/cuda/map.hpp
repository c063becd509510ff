// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise kernels on a CUDA stream (kernel/map.hpp defines them). T is float, double or
// bfloat16. f is a function object of kernel/map_functors.hpp, and computes in accumulation_t<T>.
// No function in this file waits for the device. For arrays of integers, `map` has kernels only for
// these functions:
//
//   of one array                  scaled, shifted, lowered, subtracting, negated, value_of<relu>,
//                                 value_of<magnitude>
//   of two arrays                 sum_of, difference_of, product_of
//   of two arrays, or of one      larger_of, smaller_of, less_of, less_equal_of, equal_of
//   array and a bound number

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/map_functors.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

/// Computes y[i] = f(x[i]) for 0 <= i < n. y may be x.
template <class F, class T>
void map(cudaStream_t stream, F const& f, T const* x, std::int64_t n, T* y);

/// Computes y[i] = f(a[i], b[i]) for 0 <= i < n. y may be a or b.
template <class F, class T>
void map(cudaStream_t stream, F const& f, T const* a, T const* b, std::int64_t n, T* y);

/// Adds bias[c] to each element of column c of y [rows, cols].
template <class T>
void add_bias(cudaStream_t stream, T const* bias, std::int64_t rows, std::int64_t cols, T* y);

/// Converts n elements to another type: dst[i] = src[i]. Converts between float, double and
/// bfloat16, rounded to nearest, ties to even, or between std::int32_t and std::int64_t.
template <class From, class To>
void convert(cudaStream_t stream, From const* src, std::int64_t n, To* dst);

/// Sets y[i] = value for 0 <= i < n.
template <class T>
void fill(cudaStream_t stream, std::type_identity_t<T> value, std::int64_t n, T* y);

}  // namespace ashlar::cuda
