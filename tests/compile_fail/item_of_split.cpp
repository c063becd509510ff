// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: item: the tensor is not whole on every rank, so a rank may have an addend or nothing. Bring it to every rank first, as in item(x | to<B, ...>).

// Only one rank has the element of a split tensor.

#include <ashlar/tensor/item.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return item(x); }
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return item(x); }
#endif
