// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: einsum: there is no product of integers. Convert the operands first, as in cast<double>(x).

// BLAS has no products of integers.

#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/einsum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<std::int32_t, 2, sbp<B>> const& x) {
  auto const y = ashlar::cast<double>(x);
  return ashlar::einsum<"mk,kn->mn">(y, y);
}
#else
auto f(tensor<std::int32_t, 2, sbp<B>> const& x) { return ashlar::einsum<"mk,kn->mn">(x, x); }
#endif
