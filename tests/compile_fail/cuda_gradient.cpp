// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gradient: functions run on the host so far, and the operands are on a device.

// On devices, a formula runs only as a layer of a net. gradient() runs its function on the host.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/gradient.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

auto slope(mesh const& m, ashlar::placement const& p) {
  return ashlar::gradient([](auto x) { return exp(x); })(ashlar::empty<float, 1>(m, {4}, p));
}
