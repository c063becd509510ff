// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests nets in pipeline stages on GPU ranks. If there are fewer devices than ranks, all ranks
// share one device (support/gpu_ranks.hpp). Losses, gradient norms, predictions and parameters must
// be close to those of the same net on one rank of the host. In bfloat16, only losses are compared.

#include <doctest/doctest.h>
#include <support/device_pipelines.hpp>
#include <support/gpu_ranks.hpp>

namespace ashlar_test {
namespace {

staged_on_host const& host() {
  static staged_on_host const done;
  return done;
}

}  // namespace

TEST_CASE("stages of one rank") { check_stages_of_one_rank(gpu_ranks(), host()); }

TEST_CASE("two stages of two ranks") {
  if (gpu_ranks().size() == 4) check_stages_of_several_ranks(gpu_ranks(), host());
}

TEST_CASE("two stages in bfloat16") { check_bfloat16_stages(gpu_ranks(), host()); }

}  // namespace ashlar_test
