// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/random.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/random.hpp>
#include <ashlar/device/cuda/random.hpp>

namespace ashlar::cuda {

template <class T>
void fill_uniform(cudaStream_t stream, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                  std::int64_t count, std::type_identity_t<accumulation_t<T>> low,
                  std::type_identity_t<accumulation_t<T>> high, T* out) {
  fill_uniform<device_launcher, T>(device_launcher(stream), seed, number, first, count, low, high,
                                   out);
}

template <class T>
void fill_normal(cudaStream_t stream, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                 std::int64_t count, std::type_identity_t<accumulation_t<T>> mean,
                 std::type_identity_t<accumulation_t<T>> deviation, T* out) {
  fill_normal<device_launcher, T>(device_launcher(stream), seed, number, first, count, mean,
                                  deviation, out);
}

template <class T>
void dropout(cudaStream_t stream, T const* x, std::int64_t count, double p, std::uint64_t seed,
             std::uint64_t number, std::int64_t first, T* y) {
  dropout(device_launcher(stream), x, count, p, seed, number, first, y);
}

template void fill_uniform(cudaStream_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                           float, float, float*);
template void fill_normal(cudaStream_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                          float, float, float*);
template void dropout(cudaStream_t, float const*, std::int64_t, double, std::uint64_t,
                      std::uint64_t, std::int64_t, float*);

template void fill_uniform(cudaStream_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                           double, double, double*);
template void fill_normal(cudaStream_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                          double, double, double*);
template void dropout(cudaStream_t, double const*, std::int64_t, double, std::uint64_t,
                      std::uint64_t, std::int64_t, double*);

template void fill_uniform(cudaStream_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                           float, float, bfloat16*);
template void fill_normal(cudaStream_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                          float, float, bfloat16*);
template void dropout(cudaStream_t, bfloat16 const*, std::int64_t, double, std::uint64_t,
                      std::uint64_t, std::int64_t, bfloat16*);

}  // namespace ashlar::cuda
