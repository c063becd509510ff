// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What element-wise kernels exist on a device, for elements of every type: nvcc compiles no others. The objects
// are those of device/functor.hpp. Another one of the library is an object there, a line here and one in
// launch/map.cuh; a program's own is ASHLAR_CUDA_MAP in a file of its own for nvcc (launch/map.cuh).

#include <ashlar/config.hpp>
#include <ashlar/device/functor.hpp>

namespace ashlar::cuda {

using device::difference_of;
using device::gradient_of;
using device::product_of;
using device::scaled;
using device::scaled_sum;
using device::sum_of;
using device::value_of;

/// Whether `map` with an F has kernels.
template <class F>
inline constexpr bool has_map_kernel = false;
template <>
inline constexpr bool has_map_kernel<value_of<device::relu>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::gelu>> = true;
template <>
inline constexpr bool has_map_kernel<gradient_of<device::relu>> = true;
template <>
inline constexpr bool has_map_kernel<gradient_of<device::gelu>> = true;
template <>
inline constexpr bool has_map_kernel<sum_of> = true;
template <>
inline constexpr bool has_map_kernel<difference_of> = true;
template <>
inline constexpr bool has_map_kernel<product_of> = true;
template <class A>
inline constexpr bool has_map_kernel<scaled<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<scaled_sum<A>> = true;

}  // namespace ashlar::cuda
