// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: max: the numbers are not different dimensions of the tensor. Dimensions count from 0 to rank - 1.

// The call names dimension 2 twice.

#include <ashlar/tensor/reduce.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 3, sbp<S<0>>> const& x) { return ashlar::max<2, 0>(x); }
#else
auto f(tensor<float, 3, sbp<S<0>>> const& x) { return ashlar::max<2, 2>(x); }
#endif
