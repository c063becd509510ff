// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search that does not distinguish interchangeable mesh axes (axes with equal extents and
// equal links). The search must report a true lower bound. Its plan must be legal, and must cost as
// much as its schedule and as the optimum of dynamic programming over all choices. On five axes, no
// other search in this test can find the optimum. There, the plan's gap (1 - lower bound / cost)
// limits how far its cost may be above the optimum.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/search/factored.hpp>
#include <ashlar/search/legal.hpp>

#include "search_all_choices.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using search::any_choice, search::pruning;

void check_plan(search::plan const& plan, search::problem const& net, ashlar::topology const& t,
                ashlar::machine const& m) {
  CHECK(plan.mesh == t);
  CHECK(plan.seconds == relative(total_cost(net, plan, m).seconds()));
  CHECK(plan.memory == memory_per_rank(net, plan));
  for (int i = 0; i < net.size(); ++i) {
    CHECK(is_legal(plan[i], net.spec(i), t));
    if (net[i].kind == search::element_kind::residual_end) CHECK(plan[i] == plan[net[i].partner]);
  }
}

TEST_CASE("interchangeable axes keep one choice of each equivalence class") {
  auto const linear = linear_spec({8, 8}, 8);
  auto const count = [&](char const* mesh, search::shard_orders orders) {
    return layer_choices(linear, parse_topology(mesh), search::trivial_axes::one_row, orders)
        .size();
  };
  using enum search::shard_orders;
  auto const one = count("a=2", multisets);
  CHECK(count("a=2", canonical) == one);
  CHECK(count("a=2,b=3", multisets) == count("a=2,b=3", canonical));
  CHECK(count("a=2:inter,b=2", multisets) == count("a=2:inter,b=2", canonical));
  CHECK(count("a=2,b=2", multisets) < count("a=2,b=2", canonical));
  CHECK(count("a=2,b=2,c=2", multisets) < count("a=2,b=2,c=2", canonical) / 3);
}

TEST_CASE("on random nets and machines the cost is that of dynamic programming over all choices") {
  random_cases draw(31);
  char const* const meshes[] = {"a=2,b=2",        "a=2,b=2,c=2",
                                "node=2,a=2,b=2", "node=2,rack=3,gpu=3",
                                "a=3,b=2,c=3",    "node=2,host=2:inter,gpu=2"};
  int proved = 0, cases = 0;
  for (; cases < 150; ++cases) {
    auto const t = parse_topology(meshes[draw.below(6)]);
    auto const m = draw.machine();
    auto const net = draw.net();
    CAPTURE(to_string(t));
    double const least = over_all_choices(net, t, m).seconds;
    search::search_by_multisets<-1> alike(net, t, m);
    CHECK(alike.bound() <= least * (1 + 1e-9));
    auto const found = alike.plan();
    check_plan(found, net, t, m);
    CHECK(found.seconds >= least * (1 - 1e-9));
    CHECK(found.seconds * (1 - found.gap) <= least * (1 + 1e-9));
    proved += found.gap == 0;
    CHECK(optimal(net, t, m).seconds == relative(least));
  }
  CHECK(proved > cases / 2);
}

TEST_CASE("on four axes") {
  auto const t = parse_topology("node=2,host=2:inter,gpu=2,lane=2");
  auto const m = ashlar::machines::gpu_cluster;
  for (auto const& net : {mlp(3, 64, 32), mlp(5, 6, 10)}) {
    auto const plan = optimal(net, t, m);
    check_plan(plan, net, t, m);
    CHECK(plan.seconds == relative(over_all_choices(net, t, m).seconds));
  }
}

TEST_CASE(
    "five axes: the plan is legal, and its bound holds for coarser meshes, where it is proved") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const t = parse_topology("node=4,gpu=8");
  auto const fine = parse_topology("node=2,node1=2:inter,gpu=2,gpu1=2,gpu2=2");
  for (auto const& net : {mlp(3, 256, 64), block_net(2, {16, 32}, 64)}) {
    auto const plan = optimal(net, fine, m);
    check_plan(plan, net, fine, m);
    search::search_by_multisets<-1> alike(net, fine, m);
    CHECK(plan.seconds * (1 - plan.gap) <= alike.bound() * (1 + 1e-9));
    CHECK(plan.gap < 0.05);
    // Each axis of `t` is a product of axes of `fine`. So every plan on `t` is also possible on
    // `fine`, unless a step of a redistribution exchanges the placements of the two axes of `t`. If
    // the optimum on `t` has no such step, the lower bound on `fine` must not exceed it.
    CHECK(plan.seconds * (1 - plan.gap) <= optimal(net, t, m).seconds * (1 + 1e-9));
  }
}

/// Returns a network of `blocks` GPT blocks. In its attention layers, tensors have four dimensions,
/// one of which counts heads. In all other layers, activations have three dimensions.
search::problem gpt_net(int blocks) {
  search::problem net;
  net.micro_batches = 128;
  shape const x{8, 1024, 8192}, qkv{8, 1024, 3 * 8192};
  net.add(embedding_spec({8, 1024}, 50257, 8192));
  for (int b = 0; b < blocks; ++b) {
    add_residual(net, x, [&](search::problem& p) {
      p.add(layer_norm_spec(x));
      p.add(linear_spec(x, 3 * 8192));
      p.add(attention_spec(qkv, 64));
      p.add(linear_spec(x, 8192));
    });
    add_residual(net, x, [&](search::problem& p) {
      p.add(layer_norm_spec(x));
      p.add(linear_spec(x, 4 * 8192));
      p.add(linear_spec({8, 1024, 4 * 8192}, 8192));
    });
  }
  net.add(cross_entropy_spec(x));
  return net;
}

TEST_CASE(
    "with little effort, the search for placements ends with a plan that has the stated cost") {
  auto const m = ashlar::machines::piz_daint;
  auto const t = parse_topology("a=4:inter,b=4:inter,c=8:inter");
  auto const net = gpt_net(4);
  search::chain_model<-1, search::multiset_moves> model(net, t, m, any_choice{}, pruning::by_time);
  search::bounded_choices<-1, search::multiset_moves> bounds(model);
  bounds.restrict();
  double const bound = search::chain_solver<-1, search::multiset_moves>(model).solve();
  bounds.narrow(bound);
  for (int effort = 0; effort < 1500; effort += 100) {
    CAPTURE(effort);
    auto const plan = search::detail::assign_axes<-1>(model).plan(bound, effort);
    check_plan(plan, net, t, m);
    CHECK(plan.seconds > bound * (1 + 1e-9));  // the bound is not reached, so every effort is used
  }
}

TEST_CASE("meshes that are not searched are refused") {
  auto const net = mlp(3, 64, 32);
  auto m = ashlar::machines::gpu_cluster;
  auto const five = parse_topology("a=2,b=2,c=2,d=2,e=2");
  CHECK(has(message_of([&] {
              optimal(net, five, m, [](int, search::layer_choice const&) { return true; });
            }),
            "a search with pins, a filter or recomputed segments supports at most 4 axes"));
  m.memory = 1;
  CHECK(has(message_of([&] { optimal(net, five, m); }),
            "a search below a memory limit supports at most 4 axes"));
  m.memory = 0;
  CHECK(has(message_of([&] { optimal(net, parse_topology("a=2,b=3,c=5,d=7,e=11,f=13"), m); }),
            "choices on a mesh of 6 axes"));
}

}  // namespace
}  // namespace ashlar_test
