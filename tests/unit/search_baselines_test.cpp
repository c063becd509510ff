// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the baselines, which are the plans of known strategies. Their placements must be those of
// the papers. The search space of `optimal` must contain these plans, with the same costs. Megatron
// and Summa must use the best of all meshes of two axes (best_topology.hpp).

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/search/best_topology.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/legal.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement;
using ashlar::parse_topology;

/// Checks that a plan is legal, that its costs are those of its schedule, and that it is no cheaper
/// than the optimum of its own mesh.
void check_plan(search::problem const& net, search::plan const& plan, ashlar::machine m) {
  REQUIRE(plan.size() == net.size());
  CHECK(plan.seconds == relative(total_cost(net, plan, m).seconds()));
  CHECK(plan.communication_seconds == relative(total_cost(net, plan, m).communication));
  CHECK(plan.memory == memory_per_rank(net, plan));
  CHECK(plan.problem_hash == hash(net));
  for (int i = 0; i < net.size(); ++i) {
    CAPTURE(i);
    CHECK(search::is_legal(plan[i], net.spec(i), plan.mesh));
    if (net[i].kind == search::element_kind::residual_end) CHECK(plan[i] == plan[net[i].partner]);
  }
  m.memory = 0;
  if (plan.mesh.axes() <= 3) CHECK(optimal(net, plan.mesh, m).seconds <= plan.seconds * (1 + 1e-9));
}

std::string mesh_text(search::plan const& plan) { return to_string(plan.mesh); }

/// Returns the choice of the `count`-th layer of the given name, counted from 0.
search::layer_choice const& layer(search::problem const& net, search::plan const& plan,
                                  char const* name, int count = 0) {
  for (int i = 0; i < net.size(); ++i)
    if (net.spec(i).name == search::label(name) && count-- == 0) return plan[i];
  FAIL("no such layer");
  return plan[0];
}

TEST_CASE("ZeRO-3 is data parallel with every parameter stored split") {
  auto const net = block_net(2, {8, 16}, 32);
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const plan = zero_3(net, t, m), whole = data_parallel(net, t, m);
  check_plan(net, plan, m);
  check_plan(net, whole, m);
  for (int i = 0; i < net.size(); ++i) {
    for (int a = 0; a < 2; ++a) CHECK(same_role(plan[i].x[a], whole[i].x[a]));
    for (int k = 0; k < plan[i].parameters.size(); ++k) {
      CHECK(to_string(plan[i].parameters[k].use) == "[B,B]");
      CHECK(plan[i].parameters[k].store.split_count(0) == 2);
      CHECK(to_string(whole[i].parameters[k].store) == "[B,B]");
    }
  }
  CHECK(layer(net, plan, "gelu").x.split_count(0) == 2);
  CHECK(plan.memory < whole.memory);
}

TEST_CASE("Summa splits both dims of both operands and of the result") {
  auto const net = block_net(1, {8, 16}, 32);
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const plan = summa_parallel(net, t, m);
  check_plan(net, plan, m);
  for (int const which : {0, 1}) {
    auto const& linear = layer(net, plan, "linear", which);
    CHECK(to_string(linear.parameters[0].store) == "[S(0),S(1)]");
    CHECK(to_string(linear.parameters[0].use) == "[B,S(1)]");
    CHECK(to_string(linear.x) == "[S(0),B]");  // x arrives as [S(0),S(2)] and is gathered
    CHECK(to_string(linear.y) == "[S(0),S(2)]");
  }
  CHECK(to_string(layer(net, plan, "gelu").x) == "[S(0),S(2)]");
  CHECK(to_string(layer(net, plan, "residual").x) == "[S(0),S(2)]");
}

TEST_CASE("images stay data parallel beside dense layers that are not") {
  search::problem net;
  ashlar::shape const image{4, 3, 2, 2};
  auto relu = map_spec("relu", image, ashlar::nonlinear_training_rows("nchw"), 1);
  net.add(relu);
  search::layer_spec flat;
  flat.name = "flatten";
  flat.x = image;
  flat.y = {4, 12};
  flat.rows = ashlar::independent_training_rows(1);
  search::layer_spec dense = linear_spec({4, 12}, 8);  // a layer on [3, 2, 2] has the same work
  bool flattens = false;
  SUBCASE("flattened") { flattens = true; }
  SUBCASE("direct input of a dense layer") {}
  if (flattens) {
    net.add(flat);
  } else {
    dense.x = image;
    dense.parameters[0].extents = {3, 2, 2, 8};
    dense.rows = ashlar::linear_training_rows("nchw", "chwf", "nf", "f");
  }
  net.add(dense);
  net.add(gelu_spec({4, 8}));
  net.add(linear_spec({4, 8}, 6));
  auto const m = ashlar::machines::workstation;
  for (auto const& plan : {tensor_parallel(net, parse_topology("a=2,b=2"), m),
                           summa_parallel(net, parse_topology("a=2,b=2"), m)}) {
    check_plan(net, plan, m);
    CHECK(plan[0].x.split_count(0) == 2);
    if (flattens) CHECK(plan[1].x.split_count(0) == 2);
    CHECK(plan[flattens ? 2 : 1].parameters[0].use[1].is_split());
  }
}

TEST_CASE("the best topology is the cheapest of all, if an axis is one of the machine's") {
  auto const net = block_net(2, {12, 16}, 24);
  auto m = ashlar::machines::gpu_cluster;
  for (char const* tier : {"node", "gpu"}) {
    auto const t = parse_topology(std::string(tier) + "=12");
    for (auto const place : {search::tensor_parallel<-1>, search::summa_parallel<-1>}) {
      double least = 1e300;
      for (int columns : {1, 2, 3, 4, 6, 12}) {
        auto const kind = t.axis[0].tier;
        ashlar::topology const two{{"r", 12 / columns, kind}, {"c", columns, kind}};
        least = std::min(least, place(net, two, m).seconds);
      }
      auto const plan = best_topology(net, t, m, place);
      check_plan(net, plan, m);
      CHECK(plan.seconds == relative(least));
      CHECK(plan.mesh.ranks() == 12);
    }
  }
}

TEST_CASE("on nodes of several ranks the factors of both kinds are tried, and named") {
  std::vector<std::string> names;
  for (auto const& mesh : search::detail::two_dimensional_meshes(parse_topology("node=2,gpu=2"))) {
    names.push_back(to_string(mesh.coarse) + " as " + to_string(mesh.fine));
    CHECK(mesh.fine.ranks() == 4);
    CHECK(mesh.coarse.ranks() == 4);
    CHECK(mesh.fine.ranks_per_node() == 2);
  }
  CHECK(names ==
        std::vector<std::string>{"rows=4:inter,columns=1 as rows_node=2:inter,rows_gpu=2",
                                 "rows=2:inter,columns=2 as rows=2:inter,columns=2",
                                 "rows=2,columns=2:inter as columns=2:inter,rows=2",
                                 "rows=1,columns=4:inter as columns_node=2:inter,columns_gpu=2"});
  auto const net = block_net(1, {8, 16}, 32);
  auto const m = ashlar::machines::gpu_cluster;
  for (auto const* mesh : {"node=2,gpu=4", "node=3,gpu=2", "node=1,gpu=1", "gpu=5", "node=4"}) {
    CAPTURE(mesh);
    auto const t = parse_topology(mesh);
    for (auto const& named : search::baselines()) {
      CAPTURE(named.name);
      auto const plan = named.make(net, t, m);
      check_plan(net, plan, m);
      CHECK(plan.mesh.ranks() == t.ranks());
      CHECK(plan.mesh.ranks_per_node() == t.ranks_per_node());
    }
  }
}

TEST_CASE("a refined plan keeps roles and the order of shards") {
  auto const mesh = search::detail::two_axes_of(2, 3, 4, 5);
  CHECK(to_string(mesh.fine) == "rows_node=2:inter,columns_node=3:inter,rows_gpu=4,columns_gpu=5");
  auto const fine = [&](char const* text) {
    return to_string(search::detail::refined(parse_placement(text), mesh.parts, 4));
  };
  CHECK(fine("[S(0),B]") == to_string(parse_placement("[S(0),B,S(0),B]")));
  CHECK(fine("[P,S(1)]") == to_string(parse_placement("[P,S(1),P,S(1)]")));
  CHECK(fine("[S(0),S(0)]") == to_string(parse_placement("[S(0,0),S(0,2),S(0,1),S(0,3)]")));
  CHECK(fine("[S(0,1),S(0,0)]") == to_string(parse_placement("[S(0,2),S(0,0),S(0,3),S(0,1)]")));
}

TEST_CASE("topologies over the memory limit are skipped; if no other is left, the error says so") {
  auto const net = block_net(2, {64, 64}, 512);
  auto const t = parse_topology("node=2,gpu=4");
  auto m = ashlar::machines::gpu_cluster;
  auto const free = megatron(net, t, m);
  m.memory = free.memory - 1;
  auto const tight = megatron(net, t, m);
  check_plan(net, tight, m);
  CHECK(tight.memory <= m.memory);
  CHECK(tight.seconds >= free.seconds);
  CHECK(mesh_text(tight) != mesh_text(free));
  m.memory = 1;
  try {
    megatron(net, t, m);
    FAIL("a plan in one byte");
  } catch (ashlar::error const& e) {
    CHECK(e.operation() == "search::megatron");
    CHECK(std::string(e.what()).find("the smallest needs") != std::string::npos);
  }
}

TEST_CASE("below a memory limit Megatron and Summa recompute as few segments as fit") {
  auto net = search::any_length(ashlar::nn::describe<float>(
      ashlar::nn::gpt({.layers = 6, .features = 64, .heads = 4, .vocabulary = 256}),
      ashlar::nn::token_batch{8, 128}));
  auto const t = parse_topology("node=2,gpu=2");
  auto m = ashlar::machines::gpu_cluster;
  int compared = 0;
  for (auto const& named : {search::baselines()[2], search::baselines()[3]}) {
    CAPTURE(named.name);
    m.memory = 0;
    auto const free = named.make(net, t, m);
    CHECK(free.recomputed == 0);
    auto all = net;
    all.recomputed = net.segments;
    auto const least = named.make(all, t, m);
    REQUIRE(least.memory < free.memory);
    m.memory = (2 * least.memory + free.memory) / 3;
    auto const tight = named.make(net, t, m);
    check_plan(net, tight, m);
    CHECK(tight.memory <= m.memory);
    CHECK(tight.recomputed > 0);
    CHECK(tight.seconds >= free.seconds);
    auto fewer = net;  // if one segment less is recomputed, the plan must not fit
    fewer.recomputed = tight.recomputed - 1;
    m.memory = 0;
    auto const next = named.make(fewer, t, m);
    if (mesh_text(next) != mesh_text(tight)) continue;
    CHECK(next.memory > (2 * least.memory + free.memory) / 3);
    ++compared;
  }
  CHECK(compared > 0);
}

}  // namespace
}  // namespace ashlar_test
