// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: to: the mesh has no axis of this name. Write one of the names that the mesh was made with.

// The mesh has no axis "tp".

#include <ashlar/tensor/named_axes.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using both = mesh_axes<"node", "gpu">;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<both, on<"gpu", S<1>>>; }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<both, on<"tp", S<1>>>; }
#endif
