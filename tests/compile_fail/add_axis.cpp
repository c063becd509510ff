// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add: the operands have different placements on one mesh axis (a broadcast operand added to a partial one would count once per rank). Bring them to one placement first, as in x + (y | to<...>).
// expect: on_mesh_axis<2>::fits

// The error shows the mesh axis on which the operands differ.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B, B>> const& x) { return x + x; }
#else
auto f(tensor<float, 2, sbp<S<0>, B, B>> const& x, tensor<float, 2, sbp<S<0>, B, P>> const& y) {
  return x + y;
}
#endif
