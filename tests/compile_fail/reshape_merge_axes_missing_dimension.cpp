// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: merge_axes: the tensor does not have this dimension

// The last dimension would be merged with a next one, which does not exist.

#include <ashlar/tensor/merge_axes.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::merge_axes<0>(x); }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::merge_axes<1>(x); }
#endif
