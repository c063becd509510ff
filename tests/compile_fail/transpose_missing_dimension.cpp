// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: transpose: the tensor does not have this dimension. Dimensions count from 0 to rank - 1.

// The swap names a dimension that the tensor does not have.

#include <ashlar/tensor/permute.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 3, sbp<B>> const& x) { return ashlar::transpose<0, 2>(x); }
#else
auto f(tensor<float, 3, sbp<B>> const& x) { return ashlar::transpose<0, 3>(x); }
#endif
