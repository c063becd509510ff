// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/update.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/update.hpp>
#include <ashlar/device/cuda/update.hpp>

namespace ashlar::cuda {

template <class G, class W>
void adam_w_update(cudaStream_t stream, device::adam_w_factors const& factors, G const* gradient,
                   std::int64_t count, W* first, W* second, W* weight, bfloat16* copy) {
  adam_w_update(device_launcher(stream), factors, gradient, count, first, second, weight, copy);
}

template <class G, class W>
void sgd_update(cudaStream_t stream, device::sgd_factors const& factors, G const* gradient,
                std::int64_t count, W* velocity, W* weight, bfloat16* copy) {
  sgd_update(device_launcher(stream), factors, gradient, count, velocity, weight, copy);
}

#define ASHLAR_UPDATES(G, W)                                                                       \
  template void adam_w_update(cudaStream_t, device::adam_w_factors const&, G const*, std::int64_t, \
                              W*, W*, W*, bfloat16*);                                              \
  template void sgd_update(cudaStream_t, device::sgd_factors const&, G const*, std::int64_t, W*,   \
                           W*, bfloat16*);

ASHLAR_UPDATES(float, float)
ASHLAR_UPDATES(double, double)
ASHLAR_UPDATES(bfloat16, float)

#undef ASHLAR_UPDATES

}  // namespace ashlar::cuda
