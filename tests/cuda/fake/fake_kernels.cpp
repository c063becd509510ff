// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// All kernels of device/cuda, on the launcher of the fake device (device/ashlar/device/cuda/kernel/device.cuh,
// found before nvcc's): the text that a device runs, one index and one thread after the other.

#include <ashlar/device/cuda/kernels.cu>
