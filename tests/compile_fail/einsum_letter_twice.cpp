// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: einsum: a letter stands twice in one operand or in the result. There are no diagonals: give each dimension its own letter.
// expect: letter_of_text<'m'>::fits

// The text asks for the diagonal of x.

#include <ashlar/tensor/einsum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::einsum<"mn->m">(x); }
#else
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::einsum<"mm->m">(x); }
#endif
