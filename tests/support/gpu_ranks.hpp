// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The ranks of a test program that runs on devices. Several ranks share a device if there are fewer
// devices than ranks.

#include <support/nccl_shared_device.hpp>

#include <ashlar/comm/nccl/environment.hpp>

namespace ashlar_test {

/// Returns the world of all ranks. The first call creates the environment. Creating it is
/// collective, so all ranks must make the first call.
inline ashlar::nccl::world const& gpu_ranks() {
  static int argc = 0;
  static char** argv = nullptr;
  static ashlar::nccl::environment env(argc, argv);
  return env.world();
}

}  // namespace ashlar_test
