// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: mean: the operand is partial with another reduction than the requested one, and they do not commute. Reduce it first, as in mean<0>(x | to<B, ...>).
// expect: min: the numbers are not different dimensions of the tensor. Dimensions count from 0 to rank - 1.

// The calls ask for the mean of a partial maximum, and for the minimum over a dimension that the
// tensor does not have.

#include <ashlar/tensor/mean.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using values = tensor<float, 2, sbp<P>>;
constexpr int dim = 1;
#else
using values = tensor<float, 2, sbp<Pmax>>;
constexpr int dim = 2;
#endif

auto mean_of(values const& x) { return ashlar::mean<0>(x); }
auto min_of(tensor<float, 2, sbp<B>> const& x) { return ashlar::min<dim>(x); }
