// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: concat: the tensor does not have this dimension

// The tensors of the vector do not have the dimension along which they are concatenated.

#include <ashlar/tensor/concat.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(std::vector<tensor<float, 1, sbp<B>>> const& x) { return ashlar::concat<0>(x); }
#else
auto f(std::vector<tensor<float, 1, sbp<B>>> const& x) { return ashlar::concat<1>(x); }
#endif
