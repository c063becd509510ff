// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/map.hpp declares, and instantiates them for every element
// type and function object. These functions launch kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/map.hpp>
#include <ashlar/device/cuda/launch/map_function.cuh>
#include <ashlar/device/cuda/map.hpp>

namespace ashlar::cuda {

template <class T>
void add_bias(cudaStream_t stream, T const* bias, std::int64_t rows, std::int64_t cols, T* y) {
  add_bias(device_launcher(stream), bias, rows, cols, y);
}

template <class From, class To>
void convert(cudaStream_t stream, From const* src, std::int64_t n, To* dst) {
  convert(device_launcher(stream), src, n, dst);
}

template <class T>
void fill(cudaStream_t stream, std::type_identity_t<T> value, std::int64_t n, T* y) {
  fill(device_launcher(stream), value, n, y);
}

#define ASHLAR_UNARY(F, T) template void map(cudaStream_t, F const&, T const*, std::int64_t, T*);
#define ASHLAR_BINARY(F, T)                                                                        \
  template void map(cudaStream_t, F const&, T const*, T const*, std::int64_t, T*);
#define ASHLAR_BOUND(Side, F, A, T)                                                                \
  template void map(cudaStream_t, Side<F, A> const&, T const*, std::int64_t, T*);
#define ASHLAR_WITH_NUMBER(T, A)                                                                   \
  ASHLAR_BOUND(bound_back, larger_of, A, T)                                                        \
  ASHLAR_BOUND(bound_back, smaller_of, A, T)                                                       \
  ASHLAR_BOUND(bound_back, less_of, A, T)                                                          \
  ASHLAR_BOUND(bound_front, less_of, A, T)                                                         \
  ASHLAR_BOUND(bound_back, less_equal_of, A, T)                                                    \
  ASHLAR_BOUND(bound_front, less_equal_of, A, T)                                                   \
  ASHLAR_BOUND(bound_back, equal_of, A, T)                                                         \
  ASHLAR_BOUND(bound_front, equal_of, A, T)
#define ASHLAR_MAPS(T, A)                                                                          \
  ASHLAR_UNARY(value_of<device::relu>, T)                                                          \
  ASHLAR_UNARY(value_of<device::gelu>, T)                                                          \
  ASHLAR_UNARY(scaled<A>, T)                                                                       \
  ASHLAR_UNARY(divided<A>, T)                                                                      \
  ASHLAR_UNARY(dividing<A>, T)                                                                     \
  ASHLAR_UNARY(shifted<A>, T)                                                                      \
  ASHLAR_UNARY(lowered<A>, T)                                                                      \
  ASHLAR_UNARY(subtracting<A>, T)                                                                  \
  ASHLAR_UNARY(value_of<device::exponential>, T)                                                   \
  ASHLAR_UNARY(value_of<device::natural_log>, T)                                                   \
  ASHLAR_UNARY(value_of<device::square_root>, T)                                                   \
  ASHLAR_UNARY(value_of<device::inverse_square_root>, T)                                           \
  ASHLAR_UNARY(value_of<device::hyperbolic_tangent>, T)                                            \
  ASHLAR_UNARY(value_of<device::logistic>, T)                                                      \
  ASHLAR_UNARY(value_of<device::silu>, T)                                                          \
  ASHLAR_UNARY(value_of<device::error_function>, T)                                                \
  ASHLAR_UNARY(value_of<device::magnitude>, T)                                                     \
  ASHLAR_UNARY(raised<A>, T)                                                                       \
  ASHLAR_UNARY(negated, T)                                                                         \
  ASHLAR_BINARY(gradient_of<device::relu>, T)                                                      \
  ASHLAR_BINARY(gradient_of<device::gelu>, T)                                                      \
  ASHLAR_BINARY(gradient_of<device::exponential>, T)                                               \
  ASHLAR_BINARY(gradient_of<device::natural_log>, T)                                               \
  ASHLAR_BINARY(gradient_of<device::square_root>, T)                                               \
  ASHLAR_BINARY(gradient_of<device::inverse_square_root>, T)                                       \
  ASHLAR_BINARY(gradient_of<device::hyperbolic_tangent>, T)                                        \
  ASHLAR_BINARY(gradient_of<device::logistic>, T)                                                  \
  ASHLAR_BINARY(gradient_of<device::silu>, T)                                                      \
  ASHLAR_BINARY(gradient_of<device::error_function>, T)                                            \
  ASHLAR_BINARY(gradient_of<device::magnitude>, T)                                                 \
  ASHLAR_BINARY(raised_gradient<A>, T)                                                             \
  ASHLAR_BINARY(kept_where<true>, T)                                                               \
  ASHLAR_BINARY(kept_where<false>, T)                                                              \
  ASHLAR_BINARY(sum_of, T)                                                                         \
  ASHLAR_BINARY(difference_of, T)                                                                  \
  ASHLAR_BINARY(product_of, T)                                                                     \
  ASHLAR_BINARY(quotient_of, T)                                                                    \
  ASHLAR_BINARY(larger_of, T)                                                                      \
  ASHLAR_BINARY(smaller_of, T)                                                                     \
  ASHLAR_BINARY(less_of, T)                                                                        \
  ASHLAR_BINARY(less_equal_of, T)                                                                  \
  ASHLAR_BINARY(equal_of, T)                                                                       \
  ASHLAR_BINARY(scaled_sum<A>, T)                                                                  \
  ASHLAR_WITH_NUMBER(T, A)                                                                         \
  template void add_bias(cudaStream_t, T const*, std::int64_t, std::int64_t, T*);                  \
  template void fill<T>(cudaStream_t, T, std::int64_t, T*);

ASHLAR_MAPS(float, float)
ASHLAR_MAPS(double, double)
ASHLAR_MAPS(bfloat16, float)
template void fill<std::int32_t>(cudaStream_t, std::int32_t, std::int64_t, std::int32_t*);
template void fill<std::int64_t>(cudaStream_t, std::int64_t, std::int64_t, std::int64_t*);

#define ASHLAR_INTEGER_MAPS(T)                                                                     \
  ASHLAR_UNARY(value_of<device::relu>, T)                                                          \
  ASHLAR_UNARY(scaled<T>, T)                                                                       \
  ASHLAR_UNARY(shifted<T>, T)                                                                      \
  ASHLAR_UNARY(lowered<T>, T)                                                                      \
  ASHLAR_UNARY(subtracting<T>, T)                                                                  \
  ASHLAR_UNARY(value_of<device::magnitude>, T)                                                     \
  ASHLAR_UNARY(negated, T)                                                                         \
  ASHLAR_BINARY(sum_of, T)                                                                         \
  ASHLAR_BINARY(difference_of, T)                                                                  \
  ASHLAR_BINARY(larger_of, T)                                                                      \
  ASHLAR_BINARY(smaller_of, T)                                                                     \
  ASHLAR_BINARY(less_of, T)                                                                        \
  ASHLAR_BINARY(less_equal_of, T)                                                                  \
  ASHLAR_BINARY(equal_of, T)                                                                       \
  ASHLAR_BINARY(product_of, T)                                                                     \
  ASHLAR_WITH_NUMBER(T, T)

ASHLAR_INTEGER_MAPS(std::int32_t)
ASHLAR_INTEGER_MAPS(std::int64_t)

#define ASHLAR_CONVERT(From, To)                                                                   \
  template void convert(cudaStream_t, From const*, std::int64_t, To*);

ASHLAR_CONVERT(float, double)
ASHLAR_CONVERT(double, float)
ASHLAR_CONVERT(float, bfloat16)
ASHLAR_CONVERT(bfloat16, float)
ASHLAR_CONVERT(double, bfloat16)
ASHLAR_CONVERT(bfloat16, double)
ASHLAR_CONVERT(std::int32_t, std::int64_t)
ASHLAR_CONVERT(std::int64_t, std::int32_t)

#undef ASHLAR_CONVERT
#undef ASHLAR_INTEGER_MAPS
#undef ASHLAR_MAPS
#undef ASHLAR_WITH_NUMBER
#undef ASHLAR_BOUND
#undef ASHLAR_BINARY
#undef ASHLAR_UNARY

}  // namespace ashlar::cuda
