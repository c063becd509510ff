// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Elementary functions for element-wise maps, shared by the host's loops and the device's kernels.
// Each function is a class F with the static functions F::value(x) and F::derivative(x), and
// value_of<F>{} and gradient_of<F>{} (functor.hpp) are the function objects for `map`. Only
// raised<A> and raised_gradient<A> are themselves function objects. The functions compute in the
// type of x, which is float or double; magnitude also takes integers, and returns the least integer
// unchanged. The derivative of magnitude is 0 at 0 and at NaN.
//
//   exponential           e^x               natural_log           ln x
//   square_root           sqrt(x)           inverse_square_root   1 / sqrt(x)
//   hyperbolic_tangent    tanh x            error_function        erf x
//   logistic              1 / (1 + e^-x)    silu                  x logistic(x)
//   magnitude             |x|               raised<A>{a}          x^a
//
// The logarithm and the two roots are NaN for x < 0. exponential, hyperbolic_tangent, logistic and
// silu use math.hpp, which states the errors of exp, tanh and sigmoid. Logarithm, square root, erf
// and powers are computed by the standard library.

#include <cmath>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>
#include <ashlar/device/wrapping.hpp>

namespace ashlar::device {

struct exponential {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return math::exp(x);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    return math::exp(x);
  }
};

struct natural_log {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return std::log(x);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    return T(1) / x;
  }
  // For the smallest x, 1 / x overflows to infinity, while dy / x may be finite.
  template <class T>
  ASHLAR_HD static T gradient(T x, T dy) {
    return dy / x;
  }
};

struct square_root {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return std::sqrt(x);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    return T(0.5) / std::sqrt(x);
  }
};

struct inverse_square_root {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return T(1) / std::sqrt(x);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    return T(-0.5) / (x * std::sqrt(x));
  }
};

struct hyperbolic_tangent {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return math::tanh(x);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    T const y = math::tanh(x);
    return T(1) - y * y;
  }
};

struct error_function {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return std::erf(x);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    return T(1.1283791670955125739) * math::exp(-x * x);  // 2 / sqrt(pi) e^-x^2
  }
};

struct logistic {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return math::sigmoid(x);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    T const y = math::sigmoid(x);
    return y * (T(1) - y);
  }
};

struct silu {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return x / (T(1) + math::exp(-x));
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    T const s = math::sigmoid(x);
    return s + x * s * (T(1) - s);
  }
};

struct magnitude {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return x < T(0) ? static_cast<T>(-wrapping(x)) : x + T(0);
  }
  template <class T>
  ASHLAR_HD static T derivative(T x) {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
  }
};

template <class A>
struct raised {
  A exponent;
  ASHLAR_HD A operator()(A x) const { return std::pow(x, exponent); }
};

/// Computes the gradient of the loss with respect to x. dy is the gradient of the loss with respect
/// to x^exponent. The gradient of x^0 is 0 for every x.
template <class A>
struct raised_gradient {
  A exponent;
  ASHLAR_HD A operator()(A x, A dy) const {
    return exponent == A(0) ? A(0) : dy * exponent * std::pow(x, exponent - A(1));
  }
};

}  // namespace ashlar::device
