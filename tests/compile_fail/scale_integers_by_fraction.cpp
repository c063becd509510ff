// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: multiply: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.

// The factor would be truncated to the integer 2.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<std::int32_t, 2, sbp<B>> const& x) { return x * 2; }
#else
auto f(tensor<std::int32_t, 2, sbp<B>> const& x) { return x * 2.5; }
#endif
