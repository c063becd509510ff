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

TEST_CASE("operators of one tensor") {
  for (index const& extents : {index{6, 8}, {5, 3}, {1, 70}, {300, 257}, {0, 3}})
    check_unary<float>(mesh(), extents);
  check_unary<double>(mesh(), {17, 130});
  check_unary<ashlar::bfloat16>(mesh(), {5, 9});
  check_unary<std::int32_t>(mesh(), {4, 7});
}

TEST_CASE("operators of two tensors") {
  check_binary<float>(mesh(), {5, 6});
  check_binary<ashlar::bfloat16>(mesh(), {3, 4});
}

TEST_CASE("products") {
  auto const m = mesh();
  int const one_in = m.axes() == 1 ? 1 : 61;
  check_products<float, 2>(m, {6, 8, 10}, one_in);
  check_products<float, 2>(m, {130, 96, 72}, 5 * one_in);
  check_products<float, 3>(m, {4, 3, 6}, 7 * one_in);
  check_products<double, 2>(m, {5, 3, 1}, 3 * one_in);
  check_products<ashlar::bfloat16, 2>(m, {7, 4, 5}, 3 * one_in);
}

TEST_CASE("typed placements") { check_typed(row()); }

}  // namespace
}  // namespace ashlar_test
