// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: relu: a non-linear map of a partial tensor is wrong, since f(a + b) is not f(a) + f(b). Reduce it first, as in relu(x | to<B, ...>).
// expect: on_mesh_axis<3>::fits

// The error shows the mesh axis on which the operand is partial.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B, B, B, S<0>>> const& x) { return relu(x); }
#else
auto f(tensor<float, 2, sbp<B, B, B, P>> const& x) { return relu(x); }
#endif
