// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: redistribute: the placement does not fit the tensor. Split only dimensions it has, number the shard depths of a dimension 0, 1, ..., each once, and use one kind of reduction.

// A sum of maxima is not a maximum of sums, so a placement may not mix P and Pmax.

#include <ashlar/tensor/redistribute.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<P, P>; }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<P, Pmax>; }
#endif
