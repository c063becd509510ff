// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: multiply in place: a partial maximum or minimum cannot be scaled addend by addend, since a negative factor swaps the two. Reduce it first, as in auto y = x | to<B, ...>; y *= a.
// expect: on_mesh_axis<5>::fits

// The error shows the mesh axis on which x is a partial minimum.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B, B, B, B, B, P>>& x) { return x *= 2; }
#else
auto f(tensor<float, 2, sbp<B, B, B, B, B, Pmin>>& x) { return x *= 2; }
#endif
