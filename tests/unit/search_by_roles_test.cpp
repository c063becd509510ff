// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search that first ignores and then chooses the order of shards (which axis is the outer
// one if several axes split a dimension). The search must find the optimum of the complete search
// space. The test finds this optimum by exhaustive search or by dynamic programming over all
// choices. The search's lower bounds must hold.

#include <doctest/doctest.h>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/by_roles.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/optimal.hpp>

#include "search_all_choices.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using search::any_choice;
using search::pruning;

void check_optimum(search::problem const& net, ashlar::topology const& t, ashlar::machine const& m,
                   double expected) {
  CAPTURE(to_string(t));
  auto const plan = search::optimal_by_roles(net, t, m);
  CHECK_MESSAGE(close(plan.seconds, expected), plan.seconds << " for " << expected);
  auto const cost = total_cost(net, plan, m);
  CHECK(close(plan.seconds, cost.seconds()));
  CHECK(close(plan.communication_seconds, cost.communication));
  CHECK(plan.memory == memory_per_rank(net, plan));
  CHECK(plan.gap == 0);
  for (int i = 0; i < net.size(); ++i) {
    auto const legal = search::layer_choices(net.spec(i), t);
    CHECK(std::find(legal.begin(), legal.end(), plan[i]) != legal.end());
    if (net[i].kind == search::element_kind::residual_end) CHECK(plan[i] == plan[net[i].partner]);
  }
}

/// Returns the optimal cost if the order of shards is ignored, which is a lower bound.
double bound_of(search::problem const& net, ashlar::topology const& t, ashlar::machine const& m) {
  search::chain_model<-1, search::role_moves> rows(net, t, m, any_choice{}, pruning::by_time);
  return search::chain_solver<-1, search::role_moves>(rows).solve();
}

TEST_CASE("on random nets, meshes and machines the cost is that of enumeration") {
  random_cases draw(11);
  int looser = 0, residuals = 0;
  for (int done = 0; done < 300;) {
    auto const t = draw.mesh();
    auto const m = draw.machine();
    auto const net = draw.net();
    double combinations = 1;
    for (int i = 0; i < net.size(); ++i)
      combinations *= static_cast<double>(search::layer_choices(net.spec(i), t).size());
    if (combinations > 1e6) continue;
    double const least = exhaustive(net, t, m).seconds;
    check_optimum(net, t, m, least);
    double const bound = bound_of(net, t, m);
    CHECK(bound <= least * (1 + 1e-9));
    looser += bound < least * (1 - 1e-9);
    for (int i = 0; i < net.size(); ++i)
      residuals += net[i].kind == search::element_kind::residual_begin;
    ++done;
  }
  CHECK(residuals > 30);
  CHECK(looser > 0);  // the bound alone does not always prove optimality
}

TEST_CASE("on more axes and longer nets the cost is that of dynamic programming over all choices") {
  random_cases draw(12);
  int looser = 0;
  for (int done = 0; done < 150; ++done) {
    auto t = draw.mesh();
    while (t.axes() < 3) t = draw.mesh();
    auto const m = draw.machine();
    auto const net = draw.net();
    double const least = over_all_choices(net, t, m).seconds;
    check_optimum(net, t, m, least);
    looser += bound_of(net, t, m) < least * (1 - 1e-9);
  }
  CHECK(looser > 1);
}

TEST_CASE("transformer blocks, even and uneven") {
  struct {
    shape ids;
    std::int64_t d;
    char const* mesh;
  } const cases[] = {{{8, 16}, 32, "node=2,gpu=2,lane=2"}, {{16, 64}, 64, "node=4,gpu=2,lane=2"},
                     {{4, 64}, 64, "node=2,gpu=4,lane=2"}, {{6, 10}, 12, "node=2,gpu=3,lane=2"},
                     {{3, 7}, 9, "node=2,gpu=2,lane=3"},   {{2, 64}, 128, "node=3,gpu=2,lane=4"}};
  for (auto const& it : cases)
    for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster})
      for (int blocks : {1, 3}) {
        auto const net = block_net(blocks, it.ids, it.d);
        auto const t = parse_topology(it.mesh);
        check_optimum(net, t, m, over_all_choices(net, t, m).seconds);
      }
}

TEST_CASE("attention, with activations split into heads and with dims that no row splits") {
  auto const t = parse_topology("node=2,gpu=2,lane=2");
  shape const x{16, 32, 24}, wide{16, 32, 72};
  search::problem net;
  net.add(embedding_spec({16, 32}, 11, 24));
  add_residual(net, x, [&](search::problem& p) {
    p.add(layer_norm_spec(x));
    p.add(linear_spec(x, 72));
    p.add(attention_spec(wide, 2));
    p.add(linear_spec(x, 24));
  });
  net.add(cross_entropy_spec(x));
  for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster})
    check_optimum(net, t, m, over_all_choices(net, t, m).seconds);
}

TEST_CASE("on four axes") {
  auto const t = parse_topology("node=2,host=2,gpu=2,lane=2");
  auto const m = ashlar::machines::gpu_cluster;
  for (auto const& net : {mlp(3, 64, 32), mlp(5, 6, 10)})
    check_optimum(net, t, m, over_all_choices(net, t, m).seconds);
}

TEST_CASE("distances of roles are no more than what a redistribution costs") {
  auto const m = ashlar::machines::gpu_cluster;
  for (auto const* mesh : {"node=2,gpu=3,lane=2", "node=4,gpu=4", "node=1,gpu=2,lane=2"})
    for (auto const& extents : {shape{24, 36}, shape{7, 5}, shape{0, 3}, shape{48, 1, 12}}) {
      auto const t = parse_topology(mesh);
      ashlar::placement_graph const graph(extents.rank(), t);
      auto const price = graph.price(extents, 4, m);
      search::role_moves roles(t, m);
      int const table = roles.table(extents, 4);
      int wrong = 0, equal = 0;
      for (int from = 0; from < graph.states(); ++from) {
        auto const paths = graph.shortest_from(from, price);
        double const* const bound = roles.weight_from(table, roles.state(table, graph.state(from)));
        for (int to = 0; to < graph.states(); ++to) {
          double const least = paths.weight[static_cast<std::size_t>(to)];
          double const found = bound[roles.state(table, graph.state(to))];
          wrong += found > least * (1 + 1e-12);
          equal += found > least - 1e-11;
        }
      }
      CHECK(wrong == 0);
      CHECK(equal > graph.states() * graph.states() / 4);
    }
}

TEST_CASE("activations of equal rank have equal state numbers, even if no choice splits one") {
  auto const t = parse_topology("node=2,gpu=2");
  search::role_moves roles(t, ashlar::machines::gpu_cluster);
  roles.use(shape{8, 6}, 1u, true);
  roles.use(shape{8, 7}, 0u, true);
  int const split = roles.table(shape{8, 6}, 4), whole = roles.table(shape{8, 7}, 4);
  for (auto const* text : {"B,B", "S(0),B", "B,S(0)", "P,S(0)", "S(0),P", "P,P"}) {
    auto const p = ashlar::parse_placement(text);
    CHECK(roles.state(split, p) == roles.state(whole, p));
  }
}

}  // namespace
}  // namespace ashlar_test
