// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What element-wise kernels exist on a device: nvcc compiles no others. A is the type that computes,
// accumulation_t of the elements.
//
//   value_of<F>, gradient_of<F>   F::value(x), and dy F::derivative(x): F is relu or gelu (functor.hpp)
//   scaled{a}                     a x
//   sum_of, difference_of, product_of, scaled_sum{a}   x + y, x - y, x y, x + a y
//
// Another one is an object here and a line in map.cuh.

#include <ashlar/config.hpp>
#include <ashlar/device/functor.hpp>

namespace ashlar::cuda {

template <class F>
struct value_of {
  template <class A>
  ASHLAR_HD A operator()(A x) const {
    return F::value(x);
  }
};

/// The gradient of F at x, for a gradient dy of its value.
template <class F>
struct gradient_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A dy) const {
    return dy * F::derivative(x);
  }
};

template <class A>
struct scaled {
  A factor;
  ASHLAR_HD A operator()(A x) const { return factor * x; }
};

struct sum_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return x + y;
  }
};

struct difference_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return x - y;
  }
};

struct product_of {
  template <class A>
  ASHLAR_HD A operator()(A x, A y) const {
    return x * y;
  }
};

template <class A>
struct scaled_sum {
  A factor;
  ASHLAR_HD A operator()(A x, A y) const { return x + factor * y; }
};

}  // namespace ashlar::cuda
