// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that redistribution plans are the cheapest. No path of one or two steps may cost less.
// Distances between placements must equal those of an independent all-pairs algorithm, and must
// satisfy the triangle inequality. The placement graph must contain every placement.

#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>
#include <support/relative.hpp>

#include <ashlar/plan/placement_graph.hpp>
#include <ashlar/plan/text.hpp>

using namespace ashlar_test;
using ashlar::collective;

namespace {

ashlar::topology const cube{{"node", 2}, {"gpu", 2}, {"lane", 2}};
ashlar::topology const uneven{{"node", 2}, {"gpu", 3}, {"lane", 2}};
ashlar::machine const fast_inside = ashlar::machines::gpu_cluster;

std::vector<collective> kinds(ashlar::redistribution_plan const& plan) {
  std::vector<collective> list;
  for (auto const& s : plan.steps) list.push_back(s.kind);
  return list;
}

/// For each pair of placements, compares the plan with the cheapest path of at most two steps.
/// for_each_step enumerates the steps.
void check_no_short_alternative(ashlar::shape const& extents, ashlar::topology const& t,
                                ashlar::machine const& m) {
  auto const all = all_placements(extents.rank(), t.axes());
  std::size_t const n = all.size();
  auto find = [&](ashlar::placement const& p) {
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), p) - all.begin());
  };
  struct move {
    std::size_t to;
    double seconds;
  };
  std::vector<std::vector<move>> moves(n);
  for (std::size_t i = 0; i < n; ++i)
    ashlar::for_each_step(
        all[i], extents.rank(), t, reduction::sum, [&](ashlar::redistribution_step const& s) {
          moves[i].push_back({find(s.to), ashlar::step_seconds(s, extents, 4, t, m)});
          REQUIRE(moves[i].back().to < n);
        });
  int better = 0, pairs = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> best(n, 1e300);
    best[i] = 0;
    for (auto const& first : moves[i]) {
      best[first.to] = std::min(best[first.to], first.seconds);
      for (auto const& second : moves[first.to])
        best[second.to] = std::min(best[second.to], first.seconds + second.seconds);
    }
    for (std::size_t j = 0; j < n; ++j) {
      auto const plan = ashlar::plan_redistribution(extents, 4, all[i], all[j], t, m);
      better += plan.seconds > best[j] + 1e-12;
      ++pairs;
    }
  }
  CHECK(pairs == static_cast<int>(n * n));
  CHECK(better == 0);
}

/// Compares the distances in the placement graph with those of the Floyd-Warshall algorithm, which
/// uses step prices that are computed here.
void check_distances(ashlar::shape const& extents, ashlar::topology const& t,
                     ashlar::machine const& m) {
  ashlar::placement_graph const graph(extents.rank(), t);
  auto const n = static_cast<std::size_t>(graph.states());
  auto const price = graph.price(extents, 4, m);
  std::vector<double> d(n * n, 1e300);
  for (std::size_t i = 0; i < n; ++i) d[i * n + i] = 0;
  for (std::size_t e = 0; e < graph.edges().size(); ++e) {
    auto const s = graph.step_of(static_cast<int>(e));
    REQUIRE(price[e] == relative(ashlar::step_seconds(s, extents, 4, t, m)));
    auto& at = d[static_cast<std::size_t>(graph.edges()[e].from) * n +
                 static_cast<std::size_t>(graph.edges()[e].to)];
    at = std::min(at, ashlar::step_seconds(s, extents, 4, t, m) + ashlar::tie_break);
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
  std::vector<double> w(n * n);
  int wrong = 0, triangles = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const paths = graph.shortest_from(static_cast<int>(i), price);
    for (std::size_t j = 0; j < n; ++j) {
      w[i * n + j] = paths.weight[j];
      wrong += !(std::abs(paths.weight[j] - d[i * n + j]) <= 1e-18 + 1e-9 * d[i * n + j]);
    }
  }
  CHECK(wrong == 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k)
        triangles += w[i * n + k] > (w[i * n + j] + w[j * n + k]) * (1 + 1e-12);
  CHECK(triangles == 0);
}

}  // namespace

TEST_CASE("a matrix has 4, 18, 92 and 536 placements on one to four axes, all in the graph") {
  int const expected[] = {4, 18, 92, 536};
  ashlar::topology t;
  char const* names[] = {"a", "b", "c", "d"};
  for (int axes = 1; axes <= 4; ++axes) {
    t.axis.push_back({names[axes - 1], 2});
    ashlar::placement_graph const graph(2, t);
    CHECK(graph.states() == expected[axes - 1]);
    auto const all = all_placements(2, axes);
    CHECK(static_cast<int>(all.size()) == expected[axes - 1]);
    for (auto const& p : all) {
      REQUIRE(graph.find(p) >= 0);
      CHECK(graph.state(graph.find(p)) == p);
    }
  }
}

TEST_CASE("the graph finds nothing that is not in it") {
  ashlar::placement_graph const graph(2, cube);
  CHECK(graph.find({ashlar::split(2), ashlar::broadcast(), ashlar::broadcast()}) == -1);
  CHECK(graph.find({ashlar::broadcast()}) == -1);
  CHECK(graph.find({ashlar::partial(reduction::max), ashlar::broadcast(), ashlar::broadcast()}) ==
        -1);
}

TEST_CASE("no alternative of one or two steps costs less than the plan") {
  check_no_short_alternative({7, 5}, cube, {});
  check_no_short_alternative({4096, 1000}, cube, fast_inside);
  check_no_short_alternative({7, 5}, uneven, ashlar::machines::workstation);
  check_no_short_alternative({513, 1024}, uneven, fast_inside);
}

TEST_CASE("distances equal those of Floyd and Warshall's algorithm and are a metric") {
  check_distances({7, 5}, cube, {});
  check_distances({7, 5}, uneven, fast_inside);
  check_distances({1 << 12, 1 << 12}, cube, fast_inside);
  check_distances({0, 5}, uneven, {});
}

TEST_CASE("on a 4x8 mesh the planner finds the hierarchical all-reduce") {
  ashlar::topology const t{{"node", 4}, {"gpu", 8}};
  using ashlar::broadcast, ashlar::partial;
  auto const plan = ashlar::plan_redistribution({4096, 4096}, 4, {partial(), partial()},
                                                {broadcast(), broadcast()}, t, fast_inside);
  REQUIRE(plan.steps.size() == 3);
  CHECK(kinds(plan) ==
        std::vector{collective::reduce_scatter, collective::all_reduce, collective::all_gather});
  CHECK(plan.steps[0].axes == ashlar::axis_list{1});
  CHECK(plan.steps[1].axes == ashlar::axis_list{0});
  CHECK(plan.steps[2].axes == ashlar::axis_list{1});
  // The plan is cheaper than one all-reduce over both axes.
  ashlar::redistribution_step const fused{collective::all_reduce, {0, 1}, plan.from, plan.to};
  CHECK(plan.seconds < ashlar::step_seconds(fused, plan.extents, 4, t, fast_inside));
}

TEST_CASE("a small tensor takes one fused all-reduce or few messages, not the hierarchy") {
  ashlar::topology const t{{"a", 2}, {"b", 2}};
  using ashlar::broadcast, ashlar::partial;
  auto const plan = ashlar::plan_redistribution({1}, 4, {partial(), partial()},
                                                {broadcast(), broadcast()}, t, {});
  for (auto const& s : plan.steps) CHECK(s.kind == collective::all_reduce);
  CHECK(plan.steps.size() <= 2);
}

TEST_CASE("one-step redistributions are the well-known collectives") {
  ashlar::topology const t{{"gpu", 4}};
  using ashlar::broadcast, ashlar::partial, ashlar::split;
  auto only = [&](ashlar::axis_placement from, ashlar::axis_placement to) {
    auto const plan = ashlar::plan_redistribution({1024, 1024}, 4, {from}, {to}, t, {});
    REQUIRE(plan.steps.size() == 1);
    return plan.steps[0].kind;
  };
  CHECK(only(split(0), broadcast()) == collective::all_gather);
  CHECK(only(partial(), split(1)) == collective::reduce_scatter);
  CHECK(only(split(0), split(1)) == collective::all_to_all);
  CHECK(only(broadcast(), split(1)) == collective::slice);
  CHECK(only(split(1), partial()) == collective::zero_pad);
  CHECK(only(broadcast(), partial()) == collective::zero_pad);
  auto const reduce = ashlar::plan_redistribution({1024, 1024}, 4, {partial()}, {broadcast()}, t,
                                                  {});
  CHECK(reduce.seconds == relative(6 * 1e-6 + 2e-10 * 2 * 3 * (1 << 20)));
}

TEST_CASE("two nested splits are gathered with the fewer messages, fused or one after another") {
  ashlar::topology const t{{"a", 2}, {"b", 2}};
  auto const all = ashlar::placement::all_broadcast(2);
  for (auto const& from : {ashlar::placement{ashlar::split(0, 0), ashlar::split(0, 1)},
                           ashlar::placement{ashlar::split(0, 1), ashlar::split(0, 0)}}) {
    // Two nested gathers with one message each receive as many bytes as one gather with three
    // messages, so latency decides.
    auto const plan = ashlar::plan_redistribution({64}, 4, from, all, t, {});
    double const fused = 3 * 1e-6 + 48 * 4 * 2e-10, nested = 2 * 1e-6 + 48 * 4 * 2e-10;
    CHECK(plan.seconds == relative(std::min(fused, nested)));
  }
}

TEST_CASE("ties go to fewer steps") {
  // On axes of extent 1 every step takes no time. The plan must still use a single step.
  ashlar::topology const t{{"a", 1}, {"b", 1}};
  auto const plan = ashlar::plan_redistribution({8, 8}, 4, {ashlar::partial(), ashlar::partial()},
                                                ashlar::placement::all_broadcast(2), t, {});
  CHECK(plan.seconds == 0);
  CHECK(plan.steps.size() == 1);
}

TEST_CASE("a plan prints its steps with axes, placements, bytes and seconds") {
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  std::ostringstream out;
  out << ashlar::plan_report{
      ashlar::plan_redistribution({512, 1024}, 4, {ashlar::split(0), ashlar::split(1)},
                                  {ashlar::split(0), ashlar::broadcast()}, t, {}),
      t,
      {}};
  auto const text = out.str();
  for (char const* part : {"512x1024", "[S(0),S(1)]", "[S(0),B]", "node=2,gpu=2", "all-gather",
                           "along gpu", "512.00 KiB"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part, " in ", text);
  out.str("");
  out << ashlar::plan_report{
      ashlar::plan_redistribution({4}, 4, {ashlar::split(0)}, {ashlar::split(0)}, {{"a", 2}}, {}),
      {{"a", 2}},
      {}};
  CHECK(out.str().find("nothing to do") != std::string::npos);
}
