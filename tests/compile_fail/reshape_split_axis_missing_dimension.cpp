// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: split_axis: the tensor does not have this dimension

// The tensor does not have the dimension that is divided into two.

#include <ashlar/tensor/split_axis.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::split_axis<1>(x, {2, 3}); }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::split_axis<2>(x, {2, 3}); }
#endif
