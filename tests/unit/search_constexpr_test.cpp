// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the search finds the same plans at compile time and at run time.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/optimal.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

constexpr ashlar::topology two_nodes{{"node", 2}, {"gpu", 4}};

/// Returns a network whose layers all differ in kind or width, so that the search cannot share its
/// tables between layers.
template <int N = search::dynamic_size>
constexpr search::basic_problem<N> uneven() {
  search::basic_problem<N> net;
  net.add(linear_spec({30, 12}, 20));
  net.add(layer_norm_spec({30, 20}));
  add_residual(net, {30, 20}, [](auto& p) { p.add(dropout_spec({30, 20})); });
  net.add(cross_entropy_spec({30, 20}));
  return net;
}

template <int N>
void check_equal(search::basic_plan<N> const& compiled, search::plan const& found) {
  REQUIRE(compiled.size() == found.size());
  CHECK(compiled.mesh == found.mesh);
  CHECK(compiled.seconds == relative(found.seconds));
  CHECK(compiled.communication_seconds == relative(found.communication_seconds));
  CHECK(compiled.memory == found.memory);
  CHECK(compiled.problem_hash == found.problem_hash);
  for (int i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(compiled[i] == found[i]);
  }
}

TEST_CASE("a chain of twelve layers gets the same plan in the compiler and at run time") {
  constexpr auto compiled = optimal(mlp<12>(12, 512, 1024), two_nodes,
                                    ashlar::machines::workstation);
  check_equal(compiled, optimal(mlp(12, 512, 1024), two_nodes, ashlar::machines::workstation));
}

TEST_CASE(
    "a net with a residual, a loss and uneven extents gets the same plan in the compiler, too") {
  constexpr auto compiled = optimal(uneven<6>(), two_nodes, ashlar::machines::gpu_cluster);
  check_equal(compiled, optimal(uneven(), two_nodes, ashlar::machines::gpu_cluster));
}

}  // namespace
}  // namespace ashlar_test
