// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise loops over contiguous arrays, and the sum of the squares of a whole array.
//
//   map(x, n, y, f)        y[i] = f(x[i])           y may be x
//   map(a, b, n, y, f)     y[i] = f(a[i], b[i])     y may be a or b
//   add_inplace            y[i] += x[i]
//   scale_inplace, fill    y[i] *= alpha, y[i] = value
//   sum_of_squares         accumulated in double, in the order of reduce.hpp
//
// add_inplace and scale_inplace of integers wrap around (device/wrapping.hpp).
//
// Two arrays of a call must be either identical or disjoint. strided_copy.hpp has loops over
// strided arrays.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/reduce.hpp>

namespace ashlar::device::host {

namespace detail {

// map_disjoint promises the compiler that x and y do not overlap, so that the loop is vectorised.
// Without this promise, clang tests at run time whether the arrays overlap. If the arrays are
// identical, as in-place maps allow, the code that clang generates runs a scalar loop. So in-place
// maps have separate loops. A pragma cannot be used instead, because it causes a warning for every
// f that cannot be vectorised.
template <class T, class F>
[[gnu::flatten]] void map_disjoint(T const* ASHLAR_RESTRICT x, std::int64_t n, T* ASHLAR_RESTRICT y,
                                   F f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

template <class T, class F>
[[gnu::flatten]] void map_disjoint(T const* ASHLAR_RESTRICT a, T const* ASHLAR_RESTRICT b,
                                   std::int64_t n, T* ASHLAR_RESTRICT y, F f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

}  // namespace detail

/// Computes y[i] = f(x[i]) for 0 <= i < n. y may be x.
template <class T, class F>
  requires std::is_invocable_r_v<T, F, T>
[[gnu::flatten]] void map(T const* x, std::int64_t n, T* y, F f) {
  if (x == y) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(y[i]);
  } else {
    detail::map_disjoint(x, n, y, f);
  }
}

/// Computes y[i] = f(a[i], b[i]) for 0 <= i < n. y may be a or b.
template <class T, class F>
  requires std::is_invocable_r_v<T, F, T, T>
[[gnu::flatten]] void map(T const* a, T const* b, std::int64_t n, T* y, F f) {
  if (a == b) {
    map(a, n, y, [&f](T value) { return f(value, value); });
  } else if (a == y) {
    T const* ASHLAR_RESTRICT other = b;
    T* ASHLAR_RESTRICT target = y;
    for (std::int64_t i = 0; i < n; ++i) target[i] = f(target[i], other[i]);
  } else if (b == y) {
    T const* ASHLAR_RESTRICT other = a;
    T* ASHLAR_RESTRICT target = y;
    for (std::int64_t i = 0; i < n; ++i) target[i] = f(other[i], target[i]);
  } else {
    detail::map_disjoint(a, b, n, y, f);
  }
}

/// Computes y[i] += x[i] for 0 <= i < n.
template <class T>
void add_inplace(T const* x, std::int64_t n, T* y) {
  map(static_cast<T const*>(y), x, n, y, sum_of{});
}

/// Computes y[i] *= alpha for 0 <= i < n.
template <class T>
void scale_inplace(std::type_identity_t<T> alpha, std::int64_t n, T* y) {
  map(static_cast<T const*>(y), n, y, scaled<T>{alpha});
}

/// Sets y[i] = value for 0 <= i < n.
template <class T>
void fill(std::type_identity_t<T> value, std::int64_t n, T* y) {
  std::fill_n(y, n, value);
}

/// Returns the sum of the squares of the n elements of x, accumulated in double.
template <class T>
double sum_of_squares(T const* x, std::int64_t n) {
  return reduce_sum<double>(n, [x](std::int64_t i) {
    auto const value = static_cast<double>(x[i]);
    return value * value;
  });
}

}  // namespace ashlar::device::host
