// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: einsum: the text is not the letters of one or two operands, an arrow and the letters of the result, at most 5 letters each.

// A space is not a letter.

#include <ashlar/tensor/einsum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::einsum<"mk,kn->mn">(x, x); }
#else
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::einsum<"mk, kn -> mn">(x, x); }
#endif
