// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: cumulative_sum: the dimension is split, so a rank lacks the sums of the ranks before it

// The dimension is split. A rank would have to add the sum of all elements that the ranks before it
// have.

#include <ashlar/tensor/along_dim.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return ashlar::cumulative_sum<1>(x); }
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return ashlar::cumulative_sum<0>(x); }
#endif
