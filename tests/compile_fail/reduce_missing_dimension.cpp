// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: sum: the numbers are not different dimensions of the tensor. Dimensions count from 0 to rank - 1.

// The reduction is over a dimension that the tensor does not have.

#include <ashlar/tensor/reduce.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::sum<1>(x); }
#else
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::sum<2>(x); }
#endif
