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
  template <class T>
  ASHLAR_HD static T value(T x) {
    T const inner = x * (T(rate) + T(rate * cubic) * x * x);
    return T(0.5) * x * (T(1) + math::tanh(inner));
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    T const square = x * x;
    T const t = math::tanh(x * (T(rate) + T(rate * cubic) * square));
    T const slope = T(rate) + T(3 * rate * cubic) * square;
    return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope;
  }

 private:
  static constexpr double rate = 0.79788456080286535588;  // sqrt(2 / pi)
  static constexpr double cubic = 0.044715;
};

}  // namespace ashlar::device
