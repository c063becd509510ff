// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: map: a device has no kernel for this function; a lambda runs on the host only. Use an object of device/functor.hpp, or write a kernel for yours

// nvcc has compiled no kernel for this lambda.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/factory.hpp>

void f(ashlar::nccl::mesh const& m, ashlar::placement const& p) {
  auto const x = ashlar::empty<float, 1>(m, {4}, p);
#ifdef ASHLAR_CONTROL
  map(x, ashlar::device::scaled<float>{2});
#else
  map(x, [](float v) { return 2 * v; });
#endif
}
