// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: log: its values are not integers. Make the tensor of float, double or bfloat16.
// expect: sqrt: its values are not integers. Make the tensor of float, double or bfloat16.
// expect: rsqrt: its values are not integers. Make the tensor of float, double or bfloat16.
// expect: tanh: its values are not integers. Make the tensor of float, double or bfloat16.
// expect: sigmoid: its values are not integers. Make the tensor of float, double or bfloat16.
// expect: silu: its values are not integers. Make the tensor of float, double or bfloat16.
// expect: erf: its values are not integers. Make the tensor of float, double or bfloat16.

// These are the functions that function_of_integers.cpp and pow_of_integers.cpp do not call.

#include <ashlar/tensor/functions.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using values = tensor<float, 1, sbp<B>>;
#else
using values = tensor<std::int32_t, 1, sbp<B>>;
#endif

auto log_of(values const& x) { return log(x); }
auto sqrt_of(values const& x) { return sqrt(x); }
auto rsqrt_of(values const& x) { return rsqrt(x); }
auto tanh_of(values const& x) { return tanh(x); }
auto sigmoid_of(values const& x) { return sigmoid(x); }
auto silu_of(values const& x) { return silu(x); }
auto erf_of(values const& x) { return erf(x); }
