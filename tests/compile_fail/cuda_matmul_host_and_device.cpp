// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: the operands are not two tensors of two dimensions, or two of three, or a matrix and a vector, of one element type, on one type of processor and with one tag. To move x to the part of w, write redistribute(x, w.mesh(), sbp<...>{}).

// One operand is on the host and the other on a device.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/matmul.hpp>

using namespace ashlar::placements;
using on_host = ashlar::tensor<float, 2, ashlar::sbp<B>>;
using on_device = ashlar::tensor<float, 2, ashlar::sbp<B>, ashlar::cuda::processor>;

#ifdef ASHLAR_CONTROL
auto f(on_device const& x, on_device const& y) { return matmul(x, y); }
#else
auto f(on_host const& x, on_device const& y) { return matmul(x, y); }
#endif
