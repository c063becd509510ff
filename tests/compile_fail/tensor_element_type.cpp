// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: ashlar tensors hold float, double, ashlar::bfloat16, std::int32_t or std::int64_t.

// No communicator supports elements of type char.

#include <ashlar/tensor/redistribute.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return x | ashlar::to<B>; }
#else
auto f(tensor<char, 2, sbp<S<0>>> const& x) { return x | ashlar::to<B>; }
#endif
