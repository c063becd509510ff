// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The element-wise kernels that exist: the functions of map.hpp for each type and function object.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/map.hpp>
#include <ashlar/device/cuda/map.hpp>

namespace ashlar::cuda {

template <class F, class T>
void map(cudaStream_t stream, F const& f, T const* x, std::int64_t n, T* y) {
  map(device_launcher(stream), f, x, n, y);
}

template <class F, class T>
void map(cudaStream_t stream, F const& f, T const* a, T const* b, std::int64_t n, T* y) {
  map(device_launcher(stream), f, a, b, n, y);
}

template <class T>
void add_bias(cudaStream_t stream, T const* bias, std::int64_t rows, std::int64_t cols, T* y) {
  add_bias(device_launcher(stream), bias, rows, cols, y);
}

void widen(cudaStream_t stream, bfloat16 const* src, std::int64_t n, float* dst) {
  widen(device_launcher(stream), src, n, dst);
}

void narrow(cudaStream_t stream, float const* src, std::int64_t n, bfloat16* dst) {
  narrow(device_launcher(stream), src, n, dst);
}

template <class T>
void fill(cudaStream_t stream, std::type_identity_t<T> value, std::int64_t n, T* y) {
  fill(device_launcher(stream), value, n, y);
}

#define ASHLAR_UNARY(F, T) template void map(cudaStream_t, F const&, T const*, std::int64_t, T*);
#define ASHLAR_BINARY(F, T)                                                                        \
  template void map(cudaStream_t, F const&, T const*, T const*, std::int64_t, T*);
#define ASHLAR_MAPS(T, A)                                                                          \
  ASHLAR_UNARY(value_of<device::relu>, T)                                                          \
  ASHLAR_UNARY(value_of<device::gelu>, T)                                                          \
  ASHLAR_UNARY(scaled<A>, T)                                                                       \
  ASHLAR_BINARY(gradient_of<device::relu>, T)                                                      \
  ASHLAR_BINARY(gradient_of<device::gelu>, T)                                                      \
  ASHLAR_BINARY(sum_of, T)                                                                         \
  ASHLAR_BINARY(difference_of, T)                                                                  \
  ASHLAR_BINARY(product_of, T)                                                                     \
  ASHLAR_BINARY(scaled_sum<A>, T)                                                                  \
  template void add_bias(cudaStream_t, T const*, std::int64_t, std::int64_t, T*);                  \
  template void fill<T>(cudaStream_t, T, std::int64_t, T*);

ASHLAR_MAPS(float, float)
ASHLAR_MAPS(double, double)
ASHLAR_MAPS(bfloat16, float)
template void fill<std::int32_t>(cudaStream_t, std::int32_t, std::int64_t, std::int32_t*);
template void fill<std::int64_t>(cudaStream_t, std::int64_t, std::int64_t, std::int64_t*);

#undef ASHLAR_MAPS
#undef ASHLAR_BINARY
#undef ASHLAR_UNARY

}  // namespace ashlar::cuda
