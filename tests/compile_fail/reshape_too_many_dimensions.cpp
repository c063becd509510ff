// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: reshape: a tensor has at most 5 dimensions

// The result would have six dimensions.

#include <ashlar/tensor/reshape.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::reshape(x, {1, 2, 3, 4, 5}); }
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return ashlar::reshape(x, {1, 2, 3, 4, 5, 6}); }
#endif
