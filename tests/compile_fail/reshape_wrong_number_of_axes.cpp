// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: reshape: wrong number of axes. Give one placement per mesh axis of the tensor

// The result's placement has one axis, but the mesh has two.

#include <ashlar/tensor/reshape.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) {
  return ashlar::reshape<sbp<S<0>, B>>(x, {2, 3, 4});
}
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::reshape<sbp<S<0>>>(x, {2, 3, 4}); }
#endif
