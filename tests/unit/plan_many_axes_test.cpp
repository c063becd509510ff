// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests redistribution plans on meshes of three to six axes, where the planner examines only a few
// of the placements. A plan must cost as much as the cheapest path that Dijkstra's algorithm finds
// in the graph of all placements. The prices of steps come from precomputed tables, which must
// equal step_seconds.

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/plan/nearest.hpp>
#include <ashlar/plan/placement_graph.hpp>

using namespace ashlar_test;

namespace {

/// Returns the extents of a routed tensor, which has rows for `chosen` experts of each token only
/// (layout/shape.hpp).
ashlar::shape routed(ashlar::shape extents, int chosen) {
  extents.chosen = chosen;
  return extents;
}

ashlar::topology mesh_of(std::vector<int> const& extents, int between_nodes) {
  char const* const names[] = {"a", "b", "c", "d", "e", "f"};
  ashlar::topology t;
  for (std::size_t a = 0; a < extents.size(); ++a)
    t.axis.push_back({names[a], extents[a],
                      static_cast<int>(a) < between_nodes ? ashlar::link_tier::inter_node
                                                          : ashlar::link_tier::intra_node});
  return t;
}

/// Returns a machine with a different link for each collective, as calibrated machines have.
ashlar::machine calibrated() {
  ashlar::machine m = ashlar::machines::gpu_cluster;
  for (int k = 0; k < ashlar::collective_links::kinds; ++k) {
    double const slower = 1 + 0.3 * k;
    m.intra_of.set(static_cast<ashlar::collective>(k),
                   {m.intra.alpha / slower, m.intra.beta * slower});
    m.inter_of.set(static_cast<ashlar::collective>(k),
                   {m.inter.alpha * slower, m.inter.beta / slower});
  }
  return m;
}

/// Draws `sources` random source placements, and for each source `targets` random target
/// placements. Compares the plans from each source to its targets with the cheapest paths in the
/// graph of all placements.
void check_against_graph(ashlar::shape const& extents, ashlar::topology const& t,
                         ashlar::machine const& m, int sources, int targets) {
  std::mt19937 random(3);
  ashlar::placement_graph const graph(extents.rank(), t);
  auto const price = graph.price(extents, 4, m);
  auto const state = [&] { return uniform(random, 0, graph.states() - 1); };
  for (int i = 0; i < sources; ++i) {
    int const from = state();
    auto const paths = graph.shortest_from(from, price);
    for (int j = 0; j < targets; ++j) {
      int const to = state();
      auto const plan = ashlar::plan_redistribution(extents, 4, graph.state(from), graph.state(to),
                                                    t, m);
      double const weight = plan.seconds + plan.steps.size() * ashlar::tie_break;
      double const least = paths.weight[static_cast<std::size_t>(to)];
      CHECK_MESSAGE(std::abs(weight - least) <= 1e-9 * least + 1e-18,
                    plan.from << " to " << plan.to << " @ " << t);
    }
  }
}

}  // namespace

TEST_CASE("a price from the tables is step_seconds, for every step") {
  struct {
    ashlar::shape extents;
    ashlar::topology t;
  } const cases[] = {
      {{7, 5}, mesh_of({2, 3, 2}, 1)},           {{29, 3}, mesh_of({2, 3, 4}, 2)},
      {{0, 4}, mesh_of({2, 1, 2}, 1)},           {{13, 64, 1}, mesh_of({3, 2}, 1)},
      {{1000, 17}, mesh_of({2, 2, 3}, 0)},       {routed({36, 8, 5}, 3), mesh_of({2, 3}, 1)},
      {routed({7, 5, 3}, 1), mesh_of({2, 2}, 1)}};
  for (auto const& [extents, t] : cases)
    for (auto const& m : {ashlar::machine{}, ashlar::machines::gpu_cluster, calibrated()}) {
      ashlar::step_prices const price(extents, 4, t, m);
      int wrong = 0, steps = 0;
      for (auto const& from : all_placements(extents.rank(), t.axes(), {reduction::sum}, {0}))
        ashlar::for_each_step(from, extents.rank(), t, reduction::sum,
                              [&, &extents = extents, &t = t](auto const& s) {
                                bool const pairwise = s.kind == ashlar::collective::permute &&
                                                      ashlar::is_pairwise(s, t);
                                double const found = price(s.kind, ashlar::set_of(s.axes),
                                                           ashlar::axis_roles(s.from),
                                                           ashlar::axis_roles(s.to), pairwise);
                                wrong += found != ashlar::step_seconds(s, extents, 4, t, m);
                                ++steps;
                              });
      CHECK(steps > 100);
      CHECK(wrong == 0);
    }
}

TEST_CASE("plans on three to five axes cost what Dijkstra finds in the whole graph") {
  auto const& gpus = ashlar::machines::gpu_cluster;
  check_against_graph({7, 5, 3}, mesh_of({2, 3, 2}, 1), {}, 20, 40);
  check_against_graph({512, 512}, mesh_of({2, 2, 3, 2}, 1), gpus, 20, 40);
  check_against_graph({512, 60, 31}, mesh_of({2, 2, 2, 2}, 2), gpus, 20, 40);
  check_against_graph({5, 0, 3}, mesh_of({2, 1, 3, 2}, 1), {}, 10, 20);
  check_against_graph({64, 48, 2, 9}, mesh_of({4, 2, 3}, 1), {}, 20, 40);
  check_against_graph({4096, 4096}, mesh_of({2, 2, 2, 2, 2}, 2), gpus, 4, 25);
  check_against_graph({60, 7}, mesh_of({3, 2, 2, 1, 5}, 1), {}, 4, 25);
  check_against_graph(routed({64, 12, 9}, 2), mesh_of({2, 3, 2}, 1), gpus, 20, 40);
  check_against_graph({512, 512}, mesh_of({2, 2, 3, 2}, 1), calibrated(), 20, 40);
  check_against_graph({7, 5, 3}, mesh_of({2, 3, 2}, 1), calibrated(), 20, 40);
}

TEST_CASE("plans on six axes cost what Dijkstra finds in the whole graph") {
  check_against_graph({720, 48}, mesh_of({2, 2, 3, 2, 2, 2}, 2), ashlar::machines::gpu_cluster, 2,
                      25);
}

TEST_CASE("from one reduction to another, on many axes, by way of a placement without P") {
  std::mt19937 random(8);
  auto const t = mesh_of({2, 3, 2, 2}, 1);
  ashlar::shape const extents{96, 50};
  ashlar::placement_graph const sums(2, t), maxima(2, t, reduction::max);
  auto const sum_price = sums.price(extents, 4, {}), max_price = maxima.price(extents, 4, {});
  for (int k = 0; k < 20; ++k) {
    int const from = uniform(random, 0, sums.states() - 1);
    int const to = uniform(random, 0, maxima.states() - 1);
    if (!sums.state(from).has_partial() || !maxima.state(to).has_partial()) continue;
    auto const before = sums.shortest_from(from, sum_price);
    auto const after = maxima.shortest_to(to, max_price);
    double least = 1e300;
    for (int i = 0; i < sums.states(); ++i)
      if (!sums.state(i).has_partial())
        least = std::min(least,
                         before.weight[static_cast<std::size_t>(i)] +
                             after.weight[static_cast<std::size_t>(maxima.find(sums.state(i)))]);
    auto const plan = ashlar::plan_redistribution(extents, 4, sums.state(from), maxima.state(to), t,
                                                  {});
    CHECK(plan.seconds + plan.steps.size() * ashlar::tie_break == relative(least));
  }
}

TEST_CASE("the nearest placement on four axes is as near as any that the whole graph has") {
  auto const t = mesh_of({2, 3, 2, 2}, 1);
  ashlar::shape const extents{96, 50, 7};
  std::mt19937 random(5);
  ashlar::placement_graph const graph(3, t);
  auto const price = graph.price(extents, 4, {});
  for (int k = 0; k < 12; ++k) {
    int const from = uniform(random, 0, graph.states() - 1), d = k % 3, count = k % 2;
    auto const suits = [&](placement const& p) { return p.split_count(d) == count; };
    auto const paths = graph.shortest_from(from, price);
    double least = 1e300;
    for (int i = 0; i < graph.states(); ++i) {
      bool adds_partial = false;
      for (int a = 0; a < t.axes(); ++a)
        adds_partial = adds_partial ||
                       (graph.state(i)[a].is_partial() && !graph.state(from)[a].is_partial());
      if (!adds_partial && suits(graph.state(i)))
        least = std::min(least, paths.weight[static_cast<std::size_t>(i)]);
    }
    auto const found = ashlar::nearest_placement(extents, 4, graph.state(from), t, {}, suits);
    REQUIRE(found.has_value());
    CHECK(suits(*found));
    CHECK(paths.weight[static_cast<std::size_t>(graph.find(*found))] == relative(least));
  }
}
