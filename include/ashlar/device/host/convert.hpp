// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Conversions between the type T in which elements are stored and the type accumulation_t<T> in
// which kernels compute (support/accumulation.hpp). accumulation_t<bfloat16> is float.
//
//   widen(src, n, dst)    converts an array of T to accumulation_t<T>, exactly
//   narrow(src, n, dst)   converts an array of accumulation_t<T> to T, rounded to nearest
//   rounding<T>(f)        makes a function on T from a function f on accumulation_t<T>

#include <cstdint>
#include <cstring>

#include <ashlar/config.hpp>
#include <ashlar/device/host/lanes.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::device::host {

/// Converts n elements to accumulation_t<T>, exactly: dst[i] = src[i]. accumulation_t<bfloat16> is
/// float.
template <class T>
void widen(T const* ASHLAR_RESTRICT src, std::int64_t n, accumulation_t<T>* ASHLAR_RESTRICT dst) {
  using block = lanes<T, 128 / ASHLAR_VECTOR_BYTES>;
  std::int64_t i = 0;
  for (; i + block::count <= n; i += block::count) {
    block values;
    values.load(src + i);
    values.store_wide(dst + i);
  }
  for (; i < n; ++i) dst[i] = static_cast<accumulation_t<T>>(src[i]);
}

/// Converts n elements of accumulation_t<T> to T: dst[i] = src[i], rounded to nearest, ties to
/// even.
template <class T>
void narrow(accumulation_t<T> const* ASHLAR_RESTRICT src, std::int64_t n, T* ASHLAR_RESTRICT dst) {
  using block = lanes<T, 128 / ASHLAR_VECTOR_BYTES>;
  std::int64_t i = 0;
  for (; i + block::count <= n; i += block::count) {
    block values;
    values.load_wide(src + i);
    values.store(dst + i);
  }
  for (; i < n; ++i) dst[i] = static_cast<T>(src[i]);
}

/// Makes a function on T from a function f on accumulation_t<T>. The returned function converts its
/// arguments to accumulation_t<T>, calls f, and rounds the result to T.
template <class T, class F>
auto rounding(F f) {
  return [f](auto... x) { return static_cast<T>(f(static_cast<accumulation_t<T>>(x)...)); };
}

}  // namespace ashlar::device::host
