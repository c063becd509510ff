// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: item: the tensor is not whole on every rank, so a rank may have an addend or nothing. Bring it to every rank first, as in item(x | to<B, ...>).

// Each rank has only an addend of the value.

#include <ashlar/tensor/item.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x) { return item(x); }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return item(x); }
#endif
