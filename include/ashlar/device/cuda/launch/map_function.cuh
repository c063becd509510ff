// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the function template `map` of device/cuda/map.hpp. nvcc makes a kernel for each function
// object with which `map` is instantiated. A program adds its own function object as follows:
//
//   square.hpp   struct square {
//                  template <class A> ASHLAR_HD A operator()(A x) const { return x * x; }
//                };
//                template <> inline constexpr bool ashlar::cuda::has_map_kernel<square> = true;
//   square.cu    template void ashlar::cuda::map(cudaStream_t, square const&, float const*,
//                                                std::int64_t, float*);
//
// square.hpp includes kernel/map_functors.hpp, which declares has_map_kernel. Files that call
// `map(x, square{})` include square.hpp. square.cu includes square.hpp and this file, and the
// program's own CMake compiles it with nvcc.

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
