// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The operators of tensors on a played device (played_cuda.hpp), on 1, 2 and 4 ranks.

#include <doctest/doctest.h>
#include <support/device_operators.hpp>

#include "played_ranks.hpp"

namespace ashlar_test {
namespace {

/// Runs body(mesh) as every rank of a row of 1 and 2 ranks and of a square of 4.
template <class Body>
void on_meshes(Body const& body) {
  for (ashlar::topology const& t :
       {ashlar::topology{{"gpu", 1}}, {{"gpu", 2}}, {{"node", 2}, {"gpu", 2}}})
    played::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) { body(device_mesh(w, t)); });
}

TEST_CASE("operators of one tensor") {
  on_meshes([](device_mesh const& m) {
    for (index const& extents : {index{6, 8}, {5, 3}, {1, 70}, {0, 3}})
      check_unary<float>(m, extents);
    check_unary<ashlar::bfloat16>(m, {5, 9});
    check_unary<std::int32_t>(m, {4, 7});
  });
}

TEST_CASE("operators of two tensors") {
  on_meshes([](device_mesh const& m) {
    check_binary<float>(m, {5, 6});
    check_binary<ashlar::bfloat16>(m, {3, 4});
  });
}

TEST_CASE("products") {
  on_meshes([](device_mesh const& m) {
    int const one_in = m.axes() == 1 ? 1 : 61;
    check_products<float, 2>(m, {6, 8, 10}, one_in);
    check_products<float, 2>(m, {5, 3, 1}, 2 * one_in);
    check_products<float, 3>(m, {4, 3, 6}, 7 * one_in);
    check_products<ashlar::bfloat16, 2>(m, {7, 4, 5}, 3 * one_in);
  });
}

TEST_CASE("typed placements") {
  for (int const ranks : {1, 2})
    played::all_ranks(ranks, [&](ashlar::nccl::world const& w) {
      check_typed(device_mesh(w, {{"gpu", ranks}}));
    });
}

}  // namespace
}  // namespace ashlar_test
