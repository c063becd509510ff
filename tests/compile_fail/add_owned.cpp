// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: an owned operand has its values on one rank of an axis, where no operator computes with them. Redistribute it first, as in x | to<B, ...>.

// One rank owns the tensor and the other ranks hold nothing. Only redistributions accept such
// tensors.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return x + x; }
#else
auto f(tensor<float, 2, sbp<O<1>>> const& x) { return x + x; }
#endif
