// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise kernels. They compute in accumulation_t<T> and round the result to T once. f is a
// function object of map_functors.hpp.
//
//   map(launch, f, x, n, y)       y[i] = f(x[i])          y may be x
//   map(launch, f, a, b, n, y)    y[i] = f(a[i], b[i])    y may be a or b
//   add_bias                      y[r, c] += bias[c]
//   convert                       dst[i] = src[i] in another type; floating-point numbers are
//                                 rounded to nearest
//   fill                          y[i] = value

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/map_functors.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

template <class F, class T>
struct unary_map {
  F f;
  T const* x;
  T* y;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    auto values = load<Width>(x + i);
    for (T& v : values.at) v = static_cast<T>(f(static_cast<accumulation_t<T>>(v)));
    store<Width>(y + i, values);
  }
};

template <class F, class T>
struct binary_map {
  F f;
  T const* a;
  T const* b;
  T* y;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    using A = accumulation_t<T>;
    auto left = load<Width>(a + i);
    auto const right = load<Width>(b + i);
    for (int k = 0; k < Width; ++k) {
      left.at[k] = static_cast<T>(f(static_cast<A>(left.at[k]), static_cast<A>(right.at[k])));
    }
    store<Width>(y + i, left);
  }
};

template <class T>
struct bias_addition {
  T const* bias;
  std::int64_t cols;
  T* y;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    using A = accumulation_t<T>;
    auto const added = load<Width>(bias + division(i, cols).remainder);
    auto values = load<Width>(y + i);
    for (int k = 0; k < Width; ++k) {
      values.at[k] = static_cast<T>(static_cast<A>(values.at[k]) + static_cast<A>(added.at[k]));
    }
    store<Width>(y + i, values);
  }
};

template <class From, class To>
struct conversion {
  From const* src;
  To* dst;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    auto const values = load<Width>(src + i);
    pack<To, Width> converted;
    for (int k = 0; k < Width; ++k) converted.at[k] = static_cast<To>(values.at[k]);
    store<Width>(dst + i, converted);
  }
};

template <class T>
struct fill_elements {
  T value;
  T* y;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    pack<T, Width> values;
    for (T& v : values.at) v = value;
    store<Width>(y + i, values);
  }
};

}  // namespace detail

template <launcher Launcher, class F, class T>
void map(Launcher const& launch, F const& f, T const* x, std::int64_t n, T* y) {
  launch_packed<T>(launch, "map", detail::unary_map<F, T>{f, x, y}, n, is_packable(x, y));
}

template <launcher Launcher, class F, class T>
void map(Launcher const& launch, F const& f, T const* a, T const* b, std::int64_t n, T* y) {
  launch_packed<T>(launch, "map", detail::binary_map<F, T>{f, a, b, y}, n, is_packable(a, b, y));
}

template <launcher Launcher, class T>
void add_bias(Launcher const& launch, T const* bias, std::int64_t rows, std::int64_t cols, T* y) {
  launch_packed<T>(launch, "add_bias", detail::bias_addition<T>{bias, cols, y}, rows * cols,
                   cols % widest<T> == 0 && is_packable(bias, y));
}

template <launcher Launcher, class From, class To>
void convert(Launcher const& launch, From const* src, std::int64_t n, To* dst) {
  using narrower = std::conditional_t<sizeof(From) < sizeof(To), From, To>;
  launch_packed<narrower>(launch, "convert", detail::conversion<From, To>{src, dst}, n,
                          is_packable(src) && is_packable(dst));
}

template <launcher Launcher, class T>
void fill(Launcher const& launch, T value, std::int64_t n, T* y) {
  launch_packed<T>(launch, "fill", detail::fill_elements<T>{value, y}, n, is_packable(y));
}

}  // namespace ashlar::cuda
