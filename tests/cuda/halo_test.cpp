// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests exchanges of halos on GPU ranks. tests/cuda/fake runs the same checks on fake devices. If
// there are fewer devices than ranks, all ranks share one device (support/gpu_ranks.hpp).

#include <doctest/doctest.h>
#include <support/device_halos.hpp>
#include <support/gpu_ranks.hpp>

namespace ashlar_test {

TEST_CASE("halos on devices") {
  int const n = gpu_ranks().size();
  exchange_halos({gpu_ranks(), {{"gpu", n}}});
  if (n == 4) exchange_halos({gpu_ranks(), {{"node", 2}, {"gpu", 2}}});
}

}  // namespace ashlar_test
