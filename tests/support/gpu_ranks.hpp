// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The ranks of a program of tests on a device, which they share where there are fewer devices.

#include <support/nccl_shared_device.hpp>

#include <ashlar/comm/nccl/environment.hpp>

namespace ashlar_test {

/// Its environment is made when first asked for, by all ranks.
inline ashlar::nccl::world const& gpu_ranks() {
  static int argc = 0;
  static char** argv = nullptr;
  static ashlar::nccl::environment env(argc, argv);
  return env.world();
}

}  // namespace ashlar_test
