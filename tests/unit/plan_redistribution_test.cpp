// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that every ordered pair of placements has a correct redistribution plan. Each step must be
// legal and start at the placement where the previous one ended. Executing the steps element by
// element on simulated ranks (support/replay.hpp) must turn the first placement into the second.
// The predicted bytes and peak memory must equal those of this simulation.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/relative.hpp>
#include <support/replayed_bytes.hpp>

#include <ashlar/mesh/text.hpp>

using namespace ashlar_test;
using ashlar::collective;

namespace {

struct statistics {
  int pairs = 0, steps = 0, longest = 0;
};

bool is_allowed(ashlar::redistribution_step const& s, int rank, ashlar::topology const& t,
                reduction pad, ashlar::placement const& target) {
  bool found = false;
  auto const compare = [&](ashlar::redistribution_step const& other) {
    found = found || other == s;
  };
  ashlar::for_each_step(s.from, rank, t, pad, compare, target);
  return found;
}

void check_plan(ashlar::redistribution_plan const& plan, ashlar::topology const& t,
                std::mt19937& random, statistics& count) {
  int const element_size = plan.element_size;
  index extents;
  for (auto e : plan.extents.extent) extents.push_back(static_cast<int>(e));
  INFO(ashlar::to_string(plan.extents), " ", ashlar::to_string(plan.from), " -> ",
       ashlar::to_string(plan.to), " @ ", ashlar::to_string(t));
  auto const x = random_integers(random, extents, -99, 99);
  naive_mesh const mesh(t);
  replay ranks(extents, t);
  ranks.start(x, plan.from, random);
  REQUIRE(ranks.difference(x, plan.from) == "");

  ashlar::placement at = plan.from;
  std::int64_t peak = 0;
  std::vector<std::int64_t> received(ranks.coordinates().size(), 0);
  for (std::size_t r = 0; r < received.size(); ++r)
    peak = std::max(peak, element_size * ashlar::local_box(plan.extents, t, plan.from,
                                                           t.coordinates_of(static_cast<int>(r)))
                                             .elements());
  double seconds = 0;
  // Placements between two steps may be partial only with this reduction.
  auto const op = plan.to.has_partial() ? plan.to.op() : plan.from.op();
  for (auto const& s : plan.steps) {
    INFO(ashlar::to_string(s.kind), " ", ashlar::to_string(s.from), " -> ",
         ashlar::to_string(s.to));
    CHECK(s.from == at);
    CHECK(is_allowed(s, plan.extents.rank(), t, op, plan.to));
    at = s.to;
    auto const report = ranks.run(s);
    REQUIRE(ranks.difference(x, s.to) == "");
    for (std::size_t r = 0; r < report.size(); ++r) {
      auto const load = ashlar::step_traffic(s, plan.extents, t,
                                             t.coordinates_of(static_cast<int>(r)));
      CHECK(load.elements == received_in(s, mesh, ranks.coordinates()[r], report[r]));
      if (!ashlar::communicates(s.kind)) CHECK(load == ashlar::traffic{});
      received[r] += load.elements * element_size;
      peak = std::max(peak, element_size * (report[r].held_before + report[r].held_after));
    }
    seconds += ashlar::step_seconds(s, plan.extents, element_size, t, ashlar::machine{});
  }
  CHECK(at == plan.to);
  CHECK(ranks.difference(x, plan.to) == "");
  CHECK(plan.peak_bytes == peak);
  for (auto const& end : {plan.from, plan.to})
    CHECK(plan.peak_bytes >= element_size * ashlar::max_local_elements(plan.extents, t, end));
  CHECK(plan.seconds == relative(seconds));
  for (std::size_t r = 0; r < received.size(); ++r)
    CHECK(plan.received_bytes(t, t.coordinates_of(static_cast<int>(r))) == received[r]);
  ++count.pairs;
  count.steps += plan.steps.size();
  count.longest = std::max(count.longest, plan.steps.size());
}

statistics check_all_pairs(ashlar::shape const& extents, ashlar::topology const& t,
                           std::vector<reduction> const& partials = {reduction::sum},
                           std::vector<int> const& owners = {}) {
  std::mt19937 random(11);
  statistics count;
  auto const all = all_placements(extents.rank(), t.axes(), partials, owners);
  for (auto const& [from, to] : all_combinations(all, all))
    check_plan(ashlar::plan_redistribution(extents, 4, from, to, t, {}), t, random, count);
  return count;
}

}  // namespace

TEST_CASE("all 8,464 pairs on a 2x2x2 mesh have a plan whose replay is right") {
  auto const count = check_all_pairs({7, 5}, {{"node", 2}, {"gpu", 2}, {"lane", 2}});
  CHECK(count.pairs == 8464);
  CHECK(count.longest <= 6);
  MESSAGE(count.steps, " steps in all, the longest plan has ", count.longest);
}

TEST_CASE("all 8,464 pairs on a 2x3x2 mesh, uneven extents, have a plan whose replay is right") {
  auto const count = check_all_pairs({7, 5}, {{"node", 2}, {"gpu", 3}, {"lane", 2}});
  CHECK(count.pairs == 8464);
}

TEST_CASE("plans are right on two axes for extents below, at and just above the axis, and zero") {
  for (std::int64_t m : {0, 1, 2, 3, 4, 5})
    for (std::int64_t n : {0, 1, 3, 6}) {
      CHECK(check_all_pairs({m, n}, {{"node", 2}, {"gpu", 3}}).pairs == 18 * 18);
      CHECK(check_all_pairs({m, n}, {{"a", 2}, {"b", 2}}).pairs == 18 * 18);
    }
}

TEST_CASE("plans are right where an axis has one rank") {
  CHECK(check_all_pairs({5, 3}, {{"node", 1}, {"gpu", 3}}).pairs == 18 * 18);
  CHECK(check_all_pairs({5, 3}, {{"node", 3}, {"gpu", 1}}).pairs == 18 * 18);
  CHECK(check_all_pairs({5, 3}, {{"a", 1}, {"b", 1}}).pairs == 18 * 18);
}

TEST_CASE("plans are right for vectors, scalars and tensors of rank 3") {
  CHECK(check_all_pairs({11}, {{"a", 2}, {"b", 3}, {"c", 2}}).pairs > 0);
  CHECK(check_all_pairs({}, {{"a", 2}, {"b", 3}}).pairs == 4 * 4);
  CHECK(check_all_pairs({4, 3, 5}, {{"a", 2}, {"b", 3}}).pairs == 28 * 28);
}

TEST_CASE("plans to, from and between owners are right") {
  std::vector<reduction> const sum{reduction::sum};
  CHECK(check_all_pairs({7}, {{"gpu", 3}}, sum, {0, 1, 2}).pairs == 6 * 6);
  CHECK(check_all_pairs({5, 3}, {{"node", 2}, {"gpu", 3}}, sum, {0, 1}).pairs > 1000);
  CHECK(check_all_pairs({2, 0}, {{"node", 2}, {"gpu", 3}}, sum, {1}).pairs > 500);
  CHECK(check_all_pairs({4}, {{"a", 2}, {"one", 1}, {"b", 2}}, sum, {0}).pairs > 500);
  CHECK(check_all_pairs({3, 2}, {{"a", 2}, {"b", 2}}, {reduction::max}, {1}).pairs > 500);
}

TEST_CASE("a synchronization by way of a station sums along one axis after the other") {
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  using ashlar::owned;
  using ashlar::partial;
  ashlar::placement const sums{partial(), partial()}, home{owned(1), owned(0)};
  auto const there = ashlar::plan_redistribution({10}, 4, sums, home, t, {});
  REQUIRE(there.steps.size() == 2);
  for (auto const& s : there.steps) CHECK(s.kind == collective::reduce_scatter);
  CHECK(there.received_bytes(t, {1, 0}) == 40 * (1 + 1));
  auto const back = ashlar::plan_redistribution({10}, 4, home, ashlar::placement::all_broadcast(2),
                                                t, {});
  REQUIRE(back.steps.size() == 2);
  for (auto const& s : back.steps) CHECK(s.kind == collective::all_gather);
  CHECK(back.received_bytes(t, {1, 0}) == 0);
  CHECK(back.received_bytes(t, {0, 0}) == 40);
}

// If a sum of p ranks is first split over the ranks, its owner receives 2 (p - 1) / p arrays
// instead of p - 1.
TEST_CASE("a large sum of many ranks reaches its owner by way of a split") {
  ashlar::topology const t{{"gpu", 8}};
  ashlar::placement const sums{ashlar::partial()}, home{ashlar::owned(5)};
  auto const few = ashlar::plan_redistribution({64}, 4, sums, home, t, {});
  REQUIRE(few.steps.size() == 1);
  CHECK(few.steps[0].kind == collective::reduce_scatter);
  CHECK(few.received_bytes(t, {5}) == 7 * 64 * 4);
  auto const many = ashlar::plan_redistribution({1 << 20}, 4, sums, home, t, {});
  REQUIRE(many.steps.size() == 2);
  CHECK(many.steps[0].to == ashlar::placement{ashlar::split(0)});
  CHECK(many.received_bytes(t, {5}) == 2 * 7 * (4 << 20) / 8);
}

TEST_CASE("plans are right for maxima and minima, and from one reduction to another") {
  std::vector<reduction> const all{reduction::sum, reduction::max, reduction::min};
  CHECK(check_all_pairs({5, 4}, {{"p", 3}}, all).pairs == 6 * 6);
  // With one kind of reduction there are 18 placements, 11 of them without P. Each kind of
  // reduction adds 7 placements with P, so three kinds give 32 placements.
  CHECK(check_all_pairs({5, 4}, {{"a", 2}, {"b", 3}}, all).pairs == 32 * 32);
  CHECK(check_all_pairs({0, 4}, {{"a", 2}, {"b", 2}}, all).pairs == 32 * 32);
}

TEST_CASE("a plan to the placement that a tensor has is empty and holds the tensor once") {
  ashlar::topology const t{{"node", 2}, {"gpu", 3}};
  for (auto const& p : all_placements(2, 2)) {
    auto const plan = ashlar::plan_redistribution({7, 5}, 8, p, p, t, {});
    CHECK(plan.steps.empty());
    CHECK(plan.seconds == 0);
    CHECK(plan.is_local());
    CHECK(plan.peak_bytes == 8 * ashlar::max_local_elements({7, 5}, t, p));
  }
}

TEST_CASE("the replay refuses plans that are wrong") {
  ashlar::topology const t{{"a", 2}, {"b", 2}};
  ashlar::placement const nested{ashlar::split(0), ashlar::split(0)};
  ashlar::placement const outer_left{ashlar::split(0), ashlar::broadcast()};
  std::mt19937 random(1);
  auto const x = random_integers(random, {7, 5});
  // This all-gather is wrong: axis 0 splits a dimension, and axis 1 splits each of its parts again.
  // The pieces that are gathered along axis 0 are therefore not adjacent.
  replay ranks({7, 5}, t);
  ranks.start(x, nested, random);
  ranks.run({collective::all_gather, {0}, nested, {ashlar::broadcast(), ashlar::split(0)}});
  CHECK(ranks.difference(x, {ashlar::broadcast(), ashlar::split(0)}) != "");
  // This all-gather is wrong: the tensor is replicated along axis 1, so the gather finds each
  // element twice.
  ranks.start(x, outer_left, random);
  CHECK_THROWS(ranks.run({collective::all_gather, {1}, outer_left, outer_left}));
  // This slice is wrong: a rank would need elements that it does not hold.
  ranks.start(x, outer_left, random);
  CHECK_THROWS(
      ranks.run({collective::slice, {1}, outer_left, {ashlar::broadcast(), ashlar::split(0)}}));
  // This all-reduce is wrong: it sums addends whose reduction is the maximum.
  ranks.start(x, {ashlar::partial(reduction::max), ashlar::broadcast()}, random);
  ranks.run({collective::all_reduce,
             {0},
             {ashlar::partial(), ashlar::broadcast()},
             {ashlar::broadcast(), ashlar::broadcast()}});
  CHECK(ranks.difference(x, {ashlar::broadcast(), ashlar::broadcast()}) != "");
}

TEST_CASE("blocks on exchanged axes of different extents are one permute") {
  ashlar::topology const t{{"a", 4}, {"b", 2}};
  ashlar::placement const from{{ashlar::split(0), ashlar::split(1)}},
      to{{ashlar::split(1), ashlar::split(0)}};
  auto const plan = ashlar::plan_redistribution({4096, 4096}, 8, from, to, t, {});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].kind == collective::permute);
  // In the result, axis b splits the rows and axis a the columns. No rank receives more than its
  // new shard.
  CHECK(plan.received_bytes(t, {0, 0}) == 8 * (2048 * 1024 - 1024 * 1024));
  CHECK(plan.received_bytes(t, {3, 0}) == 8 * 2048 * 1024);
}
