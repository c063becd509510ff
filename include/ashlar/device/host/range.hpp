// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Named ranges of the program's time on the host: none, since every profiler sees its functions. On devices
// they are NVTX's (device/cuda/nvtx.hpp).

#include <ashlar/device/host/processor.hpp>

namespace ashlar::device::host {

struct no_range {};

constexpr no_range range(processor const&, char const*) { return {}; }

}  // namespace ashlar::device::host
