// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The activations, each a function object with its value and its derivative, defined once for the
// host's loops and the device's kernels.
//
//   relu   max(x, 0), derivative 1 where x > 0 and 0 elsewhere, at 0 too
//   gelu   x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the form that GPT-2 uses
//
// Linear maps (add, scale, multiply) are lambdas where they are used. NaN stays NaN.

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

struct relu {
  template <class T>
  ASHLAR_HD static constexpr T value(T x) {
    return x < T(0) ? T(0) : x;
  }
  template <class T>
  ASHLAR_HD static constexpr T derivative(T x) {
    return x > T(0) ? T(1) : T(0);
  }
};

struct gelu {
  // x/2 (1 + tanh u) = x sigmoid(2u): one exponential, and no cancellation for negative x.
  template <class T>
  [[gnu::always_inline]] ASHLAR_HD static T value(T x) {
    return x * sigmoid(x * (T(2 * rate) + T(2 * rate * cubic) * x * x));
  }
  template <class T>
  [[gnu::always_inline]] ASHLAR_HD static T derivative(T x) {
    T const square = x * x;
    T const s = sigmoid(x * (T(2 * rate) + T(2 * rate * cubic) * square));
    T const slope = T(2 * rate) + T(6 * rate * cubic) * square;
    return s + x * s * (T(1) - s) * slope;
  }

 private:
  template <class T>
  [[gnu::always_inline]] ASHLAR_HD static T sigmoid(T x) {
    return T(1) / (T(1) + math::exp(-x));
  }
  static constexpr double rate = 0.79788456080286535588;  // sqrt(2 / pi)
  static constexpr double cubic = 0.044715;
};

}  // namespace ashlar::device
