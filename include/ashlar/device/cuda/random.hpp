// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Random elements of a shard with the consecutive global indices [first, first + count), on a CUDA
// stream. Values and dropout masks depend only on (seed, number, global index). The masks are the
// same as on the host. The values are the same up to rounding, because one compiler may fuse a
// product and a sum where the other does not. T is float, double or bfloat16. `stream` is a CUDA
// stream, and `number` selects the sequence of random numbers.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Fills `out` with `count` uniform random numbers in [low, high): out[i] = low + (high - low)
/// uniform(seed, number, first + i), but at most the largest T below `high` (uniform_range.hpp).
template <class T>
void fill_uniform(cudaStream_t stream, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                  std::int64_t count, std::type_identity_t<accumulation_t<T>> low,
                  std::type_identity_t<accumulation_t<T>> high, T* out);

/// Fills `out` with `count` normal random numbers:
/// out[i] = mean + deviation * normal(seed, number, first + i).
template <class T>
void fill_normal(cudaStream_t stream, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                 std::int64_t count, std::type_identity_t<accumulation_t<T>> mean,
                 std::type_identity_t<accumulation_t<T>> deviation, T* out);

/// Computes y = dropout of x: y[i] is 0 with probability p, otherwise x[i] / (1 - p). The result
/// depends only on x[i], p, seed, number and first + i. The same function, applied to dy with the
/// same other arguments, computes dx. y may be x. Throws std::invalid_argument for p outside [0,
/// 1).
template <class T>
void dropout(cudaStream_t stream, T const* x, std::int64_t count, double p, std::uint64_t seed,
             std::uint64_t number, std::int64_t first, T* y);

}  // namespace ashlar::cuda
