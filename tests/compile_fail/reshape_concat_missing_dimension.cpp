// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: concat: the tensor does not have this dimension

// The tensors do not have the dimension along which they are concatenated.

#include <ashlar/tensor/concat.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::concat<1>(x, x); }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::concat<2>(x, x); }
#endif
