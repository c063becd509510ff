// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: pow: its values are not integers. Make the tensor of float, double or bfloat16.

// A negative power of an integer is in general a fraction.

#include <ashlar/tensor/functions.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return pow(x, 2); }
#else
auto f(tensor<std::int32_t, 2, sbp<S<0>>> const& x) { return pow(x, 2); }
#endif
