// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: redistribute: a wire carries elements of type float. Cast the tensor to float, or leave out the wire.

#include <ashlar/tensor/redistribute_encoded.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using element = float;
#else
using element = double;
#endif

auto f(tensor<element, 2, sbp<P>> const& x) {
  return redistribute(x, sbp<S<0>>{}, ashlar::sync::wire<ashlar::sync::half>{});
}
