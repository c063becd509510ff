// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests the operators of tensors on real devices. The test cases are those that tests/cuda/fake
// runs on the fake device. If there are fewer devices than ranks, all ranks share one device
// (support/gpu_ranks.hpp).

#include <doctest/doctest.h>
#include <support/device_operators.hpp>
#include <support/gpu_ranks.hpp>

namespace ashlar_test {
namespace {

device_mesh row() { return {gpu_ranks(), {{"gpu", gpu_ranks().size()}}}; }
device_mesh mesh() {
  if (gpu_ranks().size() < 4) return row();
  return {gpu_ranks(), {{"node", gpu_ranks().size() / 2}, {"gpu", 2}}};
}

TEST_CASE("operators") { check_operators(mesh()); }

TEST_CASE("selections") { check_selections(mesh()); }

TEST_CASE("contractions and permutations by letters") { check_letters(mesh()); }

TEST_CASE("factories") { check_factories(mesh()); }

TEST_CASE("products") { check_products(mesh()); }

TEST_CASE("typed placements") { check_typed_operators(row()); }

}  // namespace
}  // namespace ashlar_test
