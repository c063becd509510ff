// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the function objects for which `map` has kernels on a device: for these objects, nvcc
// compiles `map` with elements of float, double and bfloat16, and for some of them also with
// elements of integer types (device/cuda/map.hpp). The objects are defined in device/functor.hpp
// and device/function.hpp.
//
// To add an object to the library, define it in device/functor.hpp, and add a line to this file and
// a line to launch/map.cuh. A program adds kernels for its own objects as launch/map_function.cuh
// shows.

#include <ashlar/config.hpp>
#include <ashlar/device/function.hpp>
#include <ashlar/device/functor.hpp>

namespace ashlar::cuda {

using device::bound_back;
using device::bound_front;
using device::difference_of;
using device::divided;
using device::dividing;
using device::equal_of;
using device::gradient_of;
using device::kept_where;
using device::larger_of;
using device::less_equal_of;
using device::less_of;
using device::lowered;
using device::negated;
using device::product_of;
using device::quotient_of;
using device::raised;
using device::raised_gradient;
using device::scaled;
using device::scaled_sum;
using device::shifted;
using device::smaller_of;
using device::subtracting;
using device::sum_of;
using device::value_of;

/// Says whether `map` has kernels for the function object F.
template <class F>
inline constexpr bool has_map_kernel = false;
template <>
inline constexpr bool has_map_kernel<value_of<device::relu>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::gelu>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::exponential>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::natural_log>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::square_root>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::inverse_square_root>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::hyperbolic_tangent>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::logistic>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::silu>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::error_function>> = true;
template <>
inline constexpr bool has_map_kernel<value_of<device::magnitude>> = true;
template <class F>
inline constexpr bool has_map_kernel<gradient_of<F>> = has_map_kernel<value_of<F>>;
template <bool Nonzero>
inline constexpr bool has_map_kernel<kept_where<Nonzero>> = true;
template <>
inline constexpr bool has_map_kernel<sum_of> = true;
template <>
inline constexpr bool has_map_kernel<difference_of> = true;
template <>
inline constexpr bool has_map_kernel<product_of> = true;
template <>
inline constexpr bool has_map_kernel<quotient_of> = true;
template <>
inline constexpr bool has_map_kernel<larger_of> = true;
template <>
inline constexpr bool has_map_kernel<smaller_of> = true;
template <>
inline constexpr bool has_map_kernel<less_of> = true;
template <>
inline constexpr bool has_map_kernel<less_equal_of> = true;
template <>
inline constexpr bool has_map_kernel<equal_of> = true;
template <>
inline constexpr bool has_map_kernel<negated> = true;
template <class A>
inline constexpr bool has_map_kernel<scaled<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<raised<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<raised_gradient<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<divided<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<dividing<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<shifted<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<lowered<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<subtracting<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<scaled_sum<A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_back<larger_of, A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_back<smaller_of, A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_back<less_of, A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_front<less_of, A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_back<less_equal_of, A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_front<less_equal_of, A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_back<equal_of, A>> = true;
template <class A>
inline constexpr bool has_map_kernel<bound_front<equal_of, A>> = true;

}  // namespace ashlar::cuda
