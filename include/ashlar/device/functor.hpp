// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Function objects for element-wise maps, shared by the host's loops and the device's kernels. An
// activation F is a class with two static functions, F::value(x) and F::derivative(x):
//
//   relu   max(x, 0); the derivative is 1 for x > 0 and 0 otherwise, including x = 0
//   gelu   x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the form that GPT-2 uses
//
// The function `map` of every processor takes the following function objects. For elements of type
// T, these objects compute in type A = accumulation_t<T>.
//
//   value_of<F>{}      f(x)     = F::value(x)
//   gradient_of<F>{}   f(x, dy) = dy F::derivative(x)
//   scaled<A>{a}       f(x)     = a x
//   divided<A>{a}      f(x)     = x / a
//   dividing<A>{a}     f(x)     = a / x
//   shifted<A>{a}      f(x)     = x + a
//   lowered<A>{a}      f(x)     = x - a
//   subtracting<A>{a}  f(x)     = a - x
//   negated{}          f(x)     = -x
//   sum_of{}           f(x, y)  = x + y
//   difference_of{}    f(x, y)  = x - y
//   product_of{}       f(x, y)  = x y
//   quotient_of{}      f(x, y)  = x / y
//   scaled_sum<A>{a}   f(x, y)  = x + a y
//   larger_of{}        f(x, y)  = the larger one
//   smaller_of{}       f(x, y)  = the smaller one
//   less_of{}          f(x, y)  = 1 if x < y, otherwise 0
//   less_equal_of{}    f(x, y)  = 1 if x <= y, otherwise 0
//   equal_of{}         f(x, y)  = 1 if x == y, otherwise 0
//   kept_where<true>{}   f(x, y) = x where y is not 0, otherwise 0
//   kept_where<false>{}  f(x, y) = x where y is 0, otherwise 0
//   bound_back{g, a}   f(x)     = g(x, a) for an object g of two arguments
//   bound_front{g, a}  f(x)     = g(a, x)
//
// All these function objects return NaN if an argument is NaN, with three exceptions: the
// derivatives of relu and magnitude (function.hpp) are 0 at NaN, comparisons with NaN give 0, and
// kept_where keeps or drops an x that is NaN like any x, and takes a y that is NaN for one that is
// not 0.
//
// Sums, differences and products of integers wrap around (wrapping.hpp).

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>
#include <ashlar/device/wrapping.hpp>

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
  // The definition has the form x/2 (1 + tanh u). This value equals x sigmoid(2u). The form x
  // sigmoid(2u) needs one exponential and has no cancellation for negative x.
  template <class T>
  [[gnu::always_inline]] ASHLAR_HD static T value(T x) {
    return x * math::sigmoid(x * (T(2 * rate) + T(2 * rate * cubic) * x * x));
  }
  template <class T>
  [[gnu::always_inline]] ASHLAR_HD static T derivative(T x) {
    T const square = x * x;
    T const s = math::sigmoid(x * (T(2 * rate) + T(2 * rate * cubic) * square));
    T const slope = T(2 * rate) + T(6 * rate * cubic) * square;
    return s + x * s * (T(1) - s) * slope;
  }

 private:
  static constexpr double rate = 0.79788456080286535588;  // sqrt(2 / pi)
  static constexpr double cubic = 0.044715;
};

template <class F>
struct value_of {
  template <class A>
  [[gnu::always_inline]] ASHLAR_HD A operator()(A x) const {
    return F::value(x);
  }
};

/// Computes the gradient of the loss with respect to x. dy is the gradient of the loss with respect
/// to F::value(x). F may have a function F::gradient(x, dy) that is more accurate than the product
/// of dy and the derivative.
template <class F>
struct gradient_of {
  template <class A>
  [[gnu::always_inline]] ASHLAR_HD A operator()(A x, A dy) const {
    if constexpr (requires { F::gradient(x, dy); }) return F::gradient(x, dy);
    else return dy * F::derivative(x);
  }
};

template <class A>
struct scaled {
  A factor;
  ASHLAR_HD A operator()(A x) const { return static_cast<A>(wrapping(factor) * wrapping(x)); }
};

template <class A>
struct divided {
  A divisor;
  ASHLAR_HD A operator()(A x) const { return x / divisor; }
};

template <class A>
struct dividing {
  A dividend;
  ASHLAR_HD A operator()(A x) const { return dividend / x; }
};

template <class A>
struct shifted {
  A addend;
  ASHLAR_HD A operator()(A x) const { return static_cast<A>(wrapping(x) + wrapping(addend)); }
};

template <class A>
struct lowered {
  A subtrahend;
  ASHLAR_HD A operator()(A x) const { return static_cast<A>(wrapping(x) - wrapping(subtrahend)); }
};

template <class A>
struct subtracting {
  A minuend;
  ASHLAR_HD A operator()(A x) const { return static_cast<A>(wrapping(minuend) - wrapping(x)); }
};

struct negated {
  template <class A>
  ASHLAR_HD A operator()(A x) const {
    return static_cast<A>(-wrapping(x));
  }
};

struct sum_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return static_cast<A>(wrapping(x) + wrapping(y));
  }
};

struct difference_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return static_cast<A>(wrapping(x) - wrapping(y));
  }
};

struct product_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return static_cast<A>(wrapping(x) * wrapping(y));
  }
};

struct quotient_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return x / y;
  }
};

struct larger_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return ((y > x) | (y != y)) ? y : x;
  }
};

struct smaller_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return ((y < x) | (y != y)) ? y : x;
  }
};

struct less_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return x < y ? A(1) : A(0);
  }
};

struct less_equal_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return x <= y ? A(1) : A(0);
  }
};

struct equal_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return x == y ? A(1) : A(0);
  }
};

template <bool Nonzero>
struct kept_where {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return (y != A(0)) == Nonzero ? x : A(0);
  }
};

template <class A>
struct scaled_sum {
  A factor;
  ASHLAR_HD A operator()(A x, A y) const {
    return static_cast<A>(wrapping(x) + wrapping(factor) * wrapping(y));
  }
};

/// Computes f(x, number). The number is not rounded to the type of the elements.
template <class F, class A>
struct bound_back {
  F f;
  A number;
  ASHLAR_HD A operator()(A x) const { return f(x, number); }
};

/// Computes f(number, x). The number is not rounded to the type of the elements.
template <class F, class A>
struct bound_front {
  F f;
  A number;
  ASHLAR_HD A operator()(A x) const { return f(number, x); }
};

}  // namespace ashlar::device
