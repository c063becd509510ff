// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// All kernels of device/cuda, compiled with the launcher of the fake device:
// device/ashlar/device/cuda/kernel/device.cuh comes before nvcc's in the include path. The code is
// the same as on a device, but indices and threads run one after another.

#include <ashlar/device/cuda/kernels.cu>
