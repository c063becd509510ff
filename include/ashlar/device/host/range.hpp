// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Named time ranges that a profiler shows. On the host these ranges do nothing, because profilers
// show the functions of the program anyway. On a device, the ranges are NVTX ranges
// (device/cuda/nvtx.hpp).

#include <ashlar/device/host/processor.hpp>

namespace ashlar::device::host {

struct no_range {};

constexpr no_range range(processor const&, char const*) { return {}; }

}  // namespace ashlar::device::host
