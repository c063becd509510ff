// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add: the operands have different placements on one mesh axis (a broadcast operand added to a partial one would count once per rank).

// The bias is replicated, but the matrix is partial, so the sum would count the bias once per rank.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using rows = tensor<float, 2, sbp<P>>;

#ifdef ASHLAR_CONTROL
void f(rows& x, tensor<float, 1, sbp<P>> const& y) { (void)(x + y); }
#else
void f(rows& x, tensor<float, 1, sbp<B>> const& y) { (void)(x + y); }
#endif
