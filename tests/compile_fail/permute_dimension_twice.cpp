// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: permute: the numbers are not an order of the tensor's dimensions. Name each dimension once, counted from 0: permute<2, 0, 1>(x) for a tensor of three.

// The order names dimension 0 twice.

#include <ashlar/tensor/permute.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 3, sbp<P>> const& x) { return ashlar::permute<0, 2, 1>(x); }
#else
auto f(tensor<float, 3, sbp<P>> const& x) { return ashlar::permute<0, 2, 0>(x); }
#endif
