// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: slice: the tensor does not have this dimension

// The tensor does not have the sliced dimension.

#include <ashlar/tensor/slice.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::slice<1>(x, 0, 1); }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::slice<2>(x, 0, 1); }
#endif
