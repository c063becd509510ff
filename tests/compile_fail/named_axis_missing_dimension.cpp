// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: redistribute: the placement does not fit the tensor.

// The named axis would split a dimension that the tensor does not have.

#include <ashlar/tensor/named_axes.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using both = mesh_axes<"node", "gpu">;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<both, on<"gpu", S<1>>>; }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<both, on<"gpu", S<2>>>; }
#endif
