// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles all kernels of device/cuda for the fake device. The include path lists the fake
// launcher, device/ashlar/device/cuda/kernel/device.cuh, before the launcher for nvcc. The code of
// the kernels is the same as on a device, but the host executes it for one index or thread after
// another.

#include <ashlar/device/cuda/kernels.cu>
