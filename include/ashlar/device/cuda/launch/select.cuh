// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the function that device/cuda/select.hpp declares, and instantiates it for every pair of
// element types. This function launches a kernel on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/select.hpp>
#include <ashlar/device/cuda/select.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

template <class M, class T>
void select_elements(cudaStream_t stream, M const* mask, device::elements_or_number<T> const& x,
                     device::elements_or_number<T> const& y, std::int64_t n, T* z) {
  select_elements(device_launcher(stream), mask, x, y, n, z);
}

#define ASHLAR_SELECT(M, T)                                                                        \
  template void select_elements(cudaStream_t, M const*, device::elements_or_number<T> const&,      \
                                device::elements_or_number<T> const&, std::int64_t, T*);
#define ASHLAR_SELECTS(T)                                                                          \
  ASHLAR_SELECT(float, T)                                                                          \
  ASHLAR_SELECT(double, T)                                                                         \
  ASHLAR_SELECT(bfloat16, T)                                                                       \
  ASHLAR_SELECT(std::int32_t, T)                                                                   \
  ASHLAR_SELECT(std::int64_t, T)

ASHLAR_SELECTS(float)
ASHLAR_SELECTS(double)
ASHLAR_SELECTS(bfloat16)
ASHLAR_SELECTS(std::int32_t)
ASHLAR_SELECTS(std::int64_t)

#undef ASHLAR_SELECTS
#undef ASHLAR_SELECT

}  // namespace ashlar::cuda
