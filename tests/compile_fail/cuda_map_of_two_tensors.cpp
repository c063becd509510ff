// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: map: a function of several tensors is called on the host only. Combine operators that a device has, or write a kernel (device/cuda/launch/map_function.cuh).

// nvcc has compiled no kernel for a function of two tensors.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/map.hpp>

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

auto f(mesh const& m, ashlar::placement const& p) {
  auto const x = ashlar::empty<float, 1>(m, {4}, p);
  return map([](float u, float v) { return u < v ? v : u; }, x, x);
}
