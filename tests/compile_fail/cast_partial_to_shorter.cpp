// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: cast: the operand is partial, and the conversion of a sum is not the sum of the conversions

// The sum of rounded addends is not the rounded sum.

#include <ashlar/tensor/cast.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x) { return ashlar::cast<double>(x); }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return ashlar::cast<ashlar::bfloat16>(x); }
#endif
