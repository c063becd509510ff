// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: mean: the mean of integers is not an integer.

// A quotient of integers would be rounded.

#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/mean.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<std::int32_t, 2, sbp<S<0>>> const& x) {
  return ashlar::mean<0>(ashlar::cast<double>(x));
}
#else
auto f(tensor<std::int32_t, 2, sbp<S<0>>> const& x) { return ashlar::mean<0>(x); }
#endif
