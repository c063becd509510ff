// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Elementary functions for loops that a compiler vectorises without -ffast-math. The functions have
// no branches and no calls, and they do not set errno. Host loops and device kernels share one
// implementation, except for exp, tanh and sigmoid of float (see below).
//
//   function   largest error in float   in double   special arguments
//   exp        2 ulp                    2 ulp       0 for very negative x, inf for large x
//   tanh       2 ulp                    4 ulp       -1 or +1 for large |x|
//   sigmoid    3 ulp                    3 ulp       0 for very negative x, 1 for large x
//   sqrt       2 ulp                    2 ulp       x must be finite and >= 0
//
// exp returns 0 if e^x is below the smallest normal number, and inf if e^x is above 2^127.5 in
// float or 2^1023.5 in double. On a device, exp of float has neither of these limits. All functions
// return NaN for NaN. The polynomials are from Cephes (expf, tanhf, tanh). For exp in double, the
// polynomial is the Taylor series. sqrt uses Newton's method, because std::sqrt would set errno.
// All functions are always inlined, because a loop that contains a call is not vectorised.
//
// On a device, exp of float is CUDA's expf, which uses a hardware instruction and has an error of 2
// ulp. tanh and sigmoid of float use the fast division __fdividef on a device. Without these faster
// versions, kernels on bfloat16 would be limited by arithmetic instead of by memory bandwidth.
//
// A logarithm, a sine and a cosine without branches are in normal.hpp: only the normal random
// numbers need them.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>

namespace ashlar::device::math {

/// Returns e^x = e^(x - n ln 2) 2^n, where n is x / ln 2 rounded to an integer. A polynomial
/// computes the first factor. x / ln 2 is rounded by adding and subtracting a large constant: 1.5 *
/// 2^23 in float and 1.5 * 2^52 in double.
[[gnu::always_inline]] ASHLAR_HD inline float exp(float x) {
#if defined(__CUDA_ARCH__)
  return ::expf(x);
#else
  float const shifted = x * 1.44269504088896341f + 12582912.0f;
  float const n = shifted - 12582912.0f;
  float const r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  std::uint32_t const power = (__builtin_bit_cast(std::uint32_t, shifted) + 127u) << 23;
  float const y = p * __builtin_bit_cast(float, power);
  float const below = x < -87.33654f ? 0.0f : y;
  return x > 88.37626f ? __builtin_huge_valf() : below;
#endif
}

[[gnu::always_inline]] ASHLAR_HD inline double exp(double x) {
  double const shifted = x * 1.4426950408889634074 + 6755399441055744.0;
  double const n = shifted - 6755399441055744.0;
  double const r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  std::uint64_t const power = (__builtin_bit_cast(std::uint64_t, shifted) + 1023u) << 52;
  double const y = p * __builtin_bit_cast(double, power);
  double const below = x < -708.396 ? 0.0 : y;
  return x > 709.436 ? __builtin_huge_val() : below;
}

namespace detail {

/// Returns tanh(x) for |x| < 0.625. The formula for larger |x|, 1 - 2 / (e^2x + 1), would suffer
/// from cancellation for such small |x|.
[[gnu::always_inline]] ASHLAR_HD inline float tanh_near_zero(float x) {
  float const z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  return p * z * x + x;
}

[[gnu::always_inline]] ASHLAR_HD inline double tanh_near_zero(double x) {
  double const z = x * x;
  double const p = (-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z -
                   1.61468768441708447952e3;
  double const q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z +
                   4.84406305325125486048e3;
  return x * z * (p / q) + x;
}

/// Returns n / x for n of 1 or 2 and x >= 1. On a device, float uses the fast division __fdividef,
/// which returns 0 for x above 2^126.
[[gnu::always_inline]] ASHLAR_HD inline float ratio(float n, float x) {
#if defined(__CUDA_ARCH__)
  return __fdividef(n, x);
#else
  return n / x;
#endif
}
[[gnu::always_inline]] ASHLAR_HD inline double ratio(double n, double x) { return n / x; }

}  // namespace detail

template <class T>
[[gnu::always_inline]] ASHLAR_HD inline T tanh(T x) {
  static_assert(std::is_floating_point_v<T>);
  T const magnitude = x < T(0) ? -x : x;
  T const large = T(1) - detail::ratio(T(2), exp(magnitude + magnitude) + T(1));
  T const signed_large = x < T(0) ? -large : large;
  T const near_zero = detail::tanh_near_zero(x);
  return magnitude < T(0.625) ? near_zero : signed_large;
}

/// Returns 1 / (1 + e^-x).
template <class T>
[[gnu::always_inline]] ASHLAR_HD inline T sigmoid(T x) {
  return detail::ratio(T(1), T(1) + exp(-x));
}

/// Returns sqrt(x) for finite x >= 0. The result is x times 1 / sqrt(x), and Newton's method
/// computes 1 / sqrt(x).
[[gnu::always_inline]] ASHLAR_HD inline float sqrt(float x) {
  float const half = 0.5f * x;
  float y = __builtin_bit_cast(float, 0x5f375a86u - (__builtin_bit_cast(std::uint32_t, x) >> 1));
  y = y * (1.5f - half * y * y);
  y = y * (1.5f - half * y * y);
  y = y * (1.5f - half * y * y);
  return x * y;
}

[[gnu::always_inline]] ASHLAR_HD inline double sqrt(double x) {
  double const half = 0.5 * x;
  double y = __builtin_bit_cast(double, 0x5fe6eb50c7b537a9ull -
                                            (__builtin_bit_cast(std::uint64_t, x) >> 1));
  y = y * (1.5 - half * y * y);
  y = y * (1.5 - half * y * y);
  y = y * (1.5 - half * y * y);
  y = y * (1.5 - half * y * y);
  return x * y;
}

}  // namespace ashlar::device::math
