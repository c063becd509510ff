// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: divide: a quotient of integers would be rounded, and the sum of rounded parts is not the rounded sum. Make the tensor of float, double or bfloat16.

// If two addends are 1 and each is divided by 2, each quotient is rounded to 0. But their sum, 2,
// divided by 2 is 1.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x) { return x / 2; }
#else
auto f(tensor<std::int32_t, 2, sbp<P>> const& x) { return x / 2; }
#endif
