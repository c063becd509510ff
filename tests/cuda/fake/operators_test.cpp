// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the operators of tensors on a fake device (fake_cuda.hpp), on 1, 2 and 4 ranks.

#include <doctest/doctest.h>
#include <support/device_operators.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {
namespace {

/// Runs body(mesh) as every rank, on meshes of 1, 2 and 2 x 2 ranks.
template <class Body>
void on_meshes(Body const& body) {
  for (ashlar::topology const& t :
       {ashlar::topology{{"gpu", 1}}, {{"gpu", 2}}, {{"node", 2}, {"gpu", 2}}})
    fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) { body(device_mesh(w, t)); });
}

TEST_CASE("operators") { on_meshes(check_operators); }

TEST_CASE("selections") { on_meshes(check_selections); }

TEST_CASE("contractions and permutations by letters") { on_meshes(check_letters); }

TEST_CASE("factories") { on_meshes(check_factories); }

TEST_CASE("products") { on_meshes(check_products); }

TEST_CASE("typed placements") {
  for (int const ranks : {1, 2})
    fake::all_ranks(ranks, [&](ashlar::nccl::world const& w) {
      check_typed_operators(device_mesh(w, {{"gpu", ranks}}));
    });
}

}  // namespace
}  // namespace ashlar_test
