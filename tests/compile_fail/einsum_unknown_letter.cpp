// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: einsum: a letter of the result is in no operand.

// The result has a dimension z, but the operand has no such dimension.

#include <ashlar/tensor/einsum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::einsum<"mn->nm">(x); }
#else
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::einsum<"mn->mz">(x); }
#endif
