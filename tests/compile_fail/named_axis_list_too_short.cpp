// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: to: mesh_axes<...> has another number of axes than the tensor's mesh. List the names of all axes, in the mesh's order.

// The list lacks an axis of the mesh.

#include <ashlar/tensor/named_axes.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using both = mesh_axes<"node", "gpu">;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<both, on<"gpu", S<1>>>; }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) {
  return x | ashlar::to<mesh_axes<"gpu">, on<"gpu", S<1>>>;
}
#endif
