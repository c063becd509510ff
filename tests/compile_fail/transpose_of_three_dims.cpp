// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: transpose: the tensor is not a matrix. Name the two dimensions to swap, as in transpose<1, 2>(x).

// The tensor has three dimensions, and the call does not say which ones to swap.

#include <ashlar/tensor/permute.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return ashlar::transpose(x); }
#else
auto f(tensor<float, 3, sbp<B>> const& x) { return ashlar::transpose(x); }
#endif
