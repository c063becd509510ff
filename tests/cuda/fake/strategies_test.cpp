// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests strategies of gradient synchronization on fake GPU ranks (fake_cuda.hpp). Losses and
// parameters must be close to the host's. With sums by rank (comm/sum_order.hpp), losses and
// parameters must be bitwise equal under all strategies.

#include <support/device_strategies.hpp>

#include <ashlar/comm/mpi/environment.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {

TEST_CASE("strategies of gradient synchronization, and sums by rank") {
  auto const host = [] {
    int argc = 0;
    char** argv = nullptr;
    ashlar::mpi::environment const env(argc, argv);  // only the training on the host uses MPI
    return strategies_on_host();
  }();
  fake::pause_up_to(20);
  for (int const ranks : {2, 4})
    fake::all_ranks(ranks, [&](auto const& w) { check_strategies_on_meshes(w, host); });
  fake::pause_up_to(0);
}

}  // namespace ashlar_test
