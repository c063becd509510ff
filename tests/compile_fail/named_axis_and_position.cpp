// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: to: some placements have the name of their axis and some have not.

// One placement names its axis, and the other placement has only a position in the list.

#include <ashlar/tensor/named_axes.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using both = mesh_axes<"node", "gpu">;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<on<"gpu", S<1>>>; }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<B, on<"gpu", S<1>>>; }
#endif
