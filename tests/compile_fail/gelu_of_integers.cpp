// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gelu: its values are not integers. Make the tensor of float, double or bfloat16.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using element = float;
#else
using element = std::int32_t;
#endif

auto f(tensor<element, 2, sbp<S<0>>> const& x) { return gelu(x); }
