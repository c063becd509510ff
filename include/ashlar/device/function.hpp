// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Elementary functions for element-wise maps, shared by the host's loops and the device's kernels.
// Each function is a class F with a static function F::value(x), and value_of<F>{} (functor.hpp) is
// the function object for `map`. Only raised<A> is itself a function object. The functions compute
// in the type of x, which is float or double; magnitude also takes integers.
//
//   exponential           e^x               natural_log           ln x, NaN for x < 0
//   square_root           NaN for x < 0     inverse_square_root   1 / sqrt(x)
//   hyperbolic_tangent    tanh x            error_function        erf x
//   logistic              1 / (1 + e^-x)    silu                  x logistic(x)
//   magnitude             |x|               raised<A>{a}          x^a, as std::pow
//
// e^x and tanh are computed by math.hpp, which states their errors. All other functions are
// computed by the standard library.

#include <cmath>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

struct exponential {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return math::exp(x);
  }
};

struct natural_log {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return std::log(x);
  }
};

struct square_root {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return std::sqrt(x);
  }
};

struct inverse_square_root {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return T(1) / std::sqrt(x);
  }
};

struct hyperbolic_tangent {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return math::tanh(x);
  }
};

struct error_function {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return std::erf(x);
  }
};

struct logistic {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return T(1) / (T(1) + math::exp(-x));
  }
};

struct silu {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return x / (T(1) + math::exp(-x));
  }
};

struct magnitude {
  template <class T>
  ASHLAR_HD static T value(T x) {
    return x < T(0) ? -x : x + T(0);
  }
};

template <class A>
struct raised {
  A exponent;
  ASHLAR_HD A operator()(A x) const { return std::pow(x, exponent); }
};

}  // namespace ashlar::device
