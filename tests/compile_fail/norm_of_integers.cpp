// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: norm: its values are not integers. Make the tensor of float, double or bfloat16.

// The square root of an integer is in general not an integer.

#include <ashlar/tensor/dot.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return norm(x); }
#else
auto f(tensor<std::int32_t, 2, sbp<S<0>>> const& x) { return norm(x); }
#endif
