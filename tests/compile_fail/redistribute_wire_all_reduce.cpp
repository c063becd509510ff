// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: redistribute: encoded addends cannot be summed on the way, so an all-reduce has no wire. Redistribute to a split first, such as sbp<S<0>>, and then to sbp<B>, with a wire or without.

#include <ashlar/tensor/redistribute_encoded.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using target = sbp<S<0>>;
#else
using target = sbp<B>;
#endif

auto f(tensor<float, 2, sbp<P>> const& x) {
  return redistribute(x, target{}, ashlar::sync::wire<ashlar::sync::one_bit>{});
}
