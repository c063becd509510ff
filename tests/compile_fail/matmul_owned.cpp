// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: an owned operand has its values on one rank of an axis, where no operator computes with them. Redistribute it first, as in x | to<B, ...>.

// One rank owns the tensor and the other ranks hold nothing. Only redistributions accept such
// tensors.

#include <ashlar/tensor/matmul.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return matmul(x, x); }
#else
auto f(tensor<float, 2, sbp<O<0>>> const& x) { return matmul(x, x); }
#endif
