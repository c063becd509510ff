// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: reshape: the placement does not fit the tensor. Split only dimensions it has

// The result is a matrix, but the placement splits its third dimension.

#include <ashlar/tensor/reshape.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::reshape<sbp<S<1>, B>>(x, {2, 3}); }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::reshape<sbp<S<2>, B>>(x, {2, 3}); }
#endif
