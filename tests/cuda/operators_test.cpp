// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// The operators of tensors on a device, one that all ranks share where there are no more: the cases that are
// played on the host (tests/cuda/played).

#include <doctest/doctest.h>
#include <support/device_operators.hpp>
#include <support/nccl_shared_device.hpp>

#include <ashlar/comm/nccl/environment.hpp>

namespace ashlar_test {
namespace {

/// The environment of the program, made when first asked for, by all ranks.
ashlar::nccl::world const& ranks() {
  static int argc = 0;
  static char** argv = nullptr;
  static ashlar::nccl::environment env(argc, argv);
  return env.world();
}

device_mesh row() { return {ranks(), {{"gpu", ranks().size()}}}; }
device_mesh mesh() {
  if (ranks().size() < 4) return row();
  return {ranks(), {{"node", ranks().size() / 2}, {"gpu", 2}}};
}

TEST_CASE("operators") { check_operators(mesh()); }

TEST_CASE("products") { check_products(mesh()); }

TEST_CASE("typed placements") { check_typed_operators(row()); }

}  // namespace
}  // namespace ashlar_test
