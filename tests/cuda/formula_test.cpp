// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests a net whose layers are formulas, on GPU ranks, under many kinds of parallelization plans.
// Predictions, gradients and losses must be close to the host's results, which are always computed
// in float: within 1e-5 if the devices compute in float, and within larger tolerances in bfloat16.
// Each step must record the collectives that the plan predicts.

#include <doctest/doctest.h>
#include <support/device_nets.hpp>
#include <support/gpu_ranks.hpp>
#include <support/placed.hpp>

namespace ashlar_test {
namespace {

template <class T>
void hold_formulas(tolerances const& near) {
  device_trial const trial(every_operator(), nn::token_batch{3, 5, 2}, 11, 11, 3);
  for (auto const& t : topologies(world_size()))
    trial.template hold_all<T>(ashlar::nccl::mesh(gpu_ranks(), t), t.ranks(), near);
}

}  // namespace

TEST_CASE("formulas in float") { hold_formulas<float>({1e-5, 1e-5, 1e-5}); }

TEST_CASE("formulas in bfloat16") { hold_formulas<ashlar::bfloat16>({0.1, 0.3, 0.2}); }

}  // namespace ashlar_test
