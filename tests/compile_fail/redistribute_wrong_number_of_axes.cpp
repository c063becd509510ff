// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: redistribute: wrong number of axes. Give one placement per mesh axis: to<S<0>, B> on a mesh of two.

// The placement has one axis, but the mesh has two.

#include <ashlar/tensor/redistribute.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<B, B>; }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return x | ashlar::to<B>; }
#endif
