// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: dot: the operands are not tensors of one element type and one number of dimensions, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).

// The operands have different element types.

#include <ashlar/tensor/dot.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x, tensor<float, 2, sbp<B>> const& y) { return dot(x, y); }
#else
auto f(tensor<float, 2, sbp<B>> const& x, tensor<double, 2, sbp<B>> const& y) { return dot(x, y); }
#endif
