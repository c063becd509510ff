// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the function `map` of map.hpp is: whoever instantiates it for a function object makes its kernel. A
// program's own object is
//
//   square.hpp   struct square { template <class A> ASHLAR_HD A operator()(A x) const { return x * x; } };
//                template <> inline constexpr bool ashlar::cuda::has_map_kernel<square> = true;
//   square.cu    template void ashlar::cuda::map(cudaStream_t, square const&, float const*, std::int64_t, float*);
//
// with this file included in square.cu, which nvcc compiles with the program's own CMake, and square.hpp
// (kernel/map_functors.hpp declares has_map_kernel) wherever `map(x, square{})` is written.

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

}  // namespace ashlar::cuda
