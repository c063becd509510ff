// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: softmax: the last dimension is split, or the tensor is partial, but the sum of a row needs the complete row. Gather it first, as in softmax(x | to<B, ...>).

// The last dimension of the operand is split, so no rank has a complete row, which softmax needs.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return softmax(x); }
#else
auto f(tensor<float, 2, sbp<S<1>>> const& x) { return softmax(x); }
#endif
