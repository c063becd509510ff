// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).

// One operand is on the host and the other on a device.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using on_host = ashlar::tensor<float, 2, ashlar::sbp<S<0>>>;
using on_device = ashlar::tensor<float, 2, ashlar::sbp<S<0>>, ashlar::cuda::processor>;

#ifdef ASHLAR_CONTROL
auto f(on_device const& x, on_device const& y) { return x + y; }
#else
auto f(on_host const& x, on_device const& y) { return x + y; }
#endif
