// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Random elements for the global indices [first, first + count), on a stream. Values and dropout
// masks are functions of (seed, number, global index) and equal those of the host
// (kernel/random.hpp). T is float, double or bfloat16. `stream` is a CUDA stream; `number` selects
// the sequence of random numbers.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes out[i] = low + (high - low) uniform(seed, number, first + i).
template <class T>
void fill_uniform(cudaStream_t stream, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                  std::int64_t count, std::type_identity_t<accumulation_t<T>> low,
                  std::type_identity_t<accumulation_t<T>> high, T* out);

/// Computes out[i] = mean + deviation normal(seed, number, first + i).
template <class T>
void fill_normal(cudaStream_t stream, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                 std::int64_t count, std::type_identity_t<accumulation_t<T>> mean,
                 std::type_identity_t<accumulation_t<T>> deviation, T* out);

/// Computes y[i] = x[i] / (1 - p) if element first + i is not dropped, else 0. Applied to dy with
/// the same arguments, it computes dx. y may be x. Throws std::invalid_argument for p outside [0,
/// 1).
template <class T>
void dropout(cudaStream_t stream, T const* x, std::int64_t count, double p, std::uint64_t seed,
             std::uint64_t number, std::int64_t first, T* y);

}  // namespace ashlar::cuda
