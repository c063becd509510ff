// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests strategies of gradient synchronization on GPU ranks. tests/cuda/fake runs the same checks
// on fake devices. If there are fewer devices than ranks, all ranks share one device
// (support/gpu_ranks.hpp). Losses and parameters must be close to the host's. With sums by rank
// (comm/sum_order.hpp), losses and parameters must be bitwise equal under all strategies.

#include <doctest/doctest.h>
#include <support/device_strategies.hpp>
#include <support/gpu_ranks.hpp>

namespace ashlar_test {

TEST_CASE("strategies of gradient synchronization, and sums by rank") {
  check_strategies_on_meshes(gpu_ranks(), strategies_on_host());
}

}  // namespace ashlar_test
