// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: softmax: the last dimension is split, or the tensor is partial, but the sum of a row needs the complete row. Gather it first, as in softmax(x | to<B, ...>).

// softmax is not linear, so it cannot be applied to the addends of a partial tensor.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B, S<0>>> const& x) { return softmax(x); }
#else
auto f(tensor<float, 2, sbp<P, S<0>>> const& x) { return softmax(x); }
#endif
