// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: mean: the numbers are not different dimensions of the tensor. Dimensions count from 0 to rank - 1.

// The call names dimension 1 twice.

#include <ashlar/tensor/mean.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::mean<0, 1>(x); }
#else
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::mean<1, 1>(x); }
#endif
