// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// thorough: ASHLAR_CROSSINGS=all 1

// Replays plans between two parts of a mesh, of up to three axes each, index by index in one
// process: the steps on the source, the messages of the crossing, and the steps on the target. All
// placements of a matrix occur on both sides, among them partial sums, maxima and minima with
// different addends. Some tensors cross as several addends. The values must be right after the
// steps on the source, after the crossing and after the steps on the target, and every rank must
// receive the planned number of bytes.
//
// With ASHLAR_CROSSINGS=all, every pair of placements without maxima and minima is replayed, on up
// to three axes of extent 2 on each side: 12,996 pairs, of which 8,464 have three axes on both
// sides. By default, the test replays all pairs with at most two axes on each side, and one in 61
// of the other pairs.

#include <map>
#include <random>

#include <doctest/doctest.h>
#include <support/replayed_bytes.hpp>
#include <support/wants_all.hpp>

#include <ashlar/placement/text.hpp>
#include <ashlar/plan/cross_mesh.hpp>
#include <ashlar/plan/crossing/transfers.hpp>

namespace ashlar_test {
namespace {

using ashlar::mesh_part;
using ashlar::shape;
using ashlar::topology;

/// Carries out the messages of a crossing, with the elements that the source's ranks hold. Returns
/// a description of what is wrong, or an empty text.
std::string replayed_crossing(shape const& extents, ashlar::cross_mesh_plan const& p,
                              topology const& whole, replay const& before, replay& after) {
  std::map<int, replay::value_map> ranks;
  for (std::size_t r = 0; r < p.source.ranks.size(); ++r)
    ranks[p.source.ranks[r]] = before.held_by(static_cast<int>(r));
  std::string wrong;
  for_each_transfer(p.across, whole, [&](ashlar::crossing_transfer const& t) {
    auto const& region = p.across.tasks[static_cast<std::size_t>(t.task)].region;
    for (std::int64_t k = t.begin; k < t.begin + t.size; ++k) {
      auto const row = region[0].begin + k / region[1].size,
                 column = region[1].begin + k % region[1].size;
      int const at = static_cast<int>(row * extents[1] + column);
      auto const sent = ranks[t.from].find(at);
      if (sent == ranks[t.from].end()) wrong = "a rank sends what it has not";
      else if (!ranks[t.to].emplace(at, sent->second).second) wrong = "a rank receives twice";
    }
  });
  for (std::size_t r = 0; r < p.target.ranks.size(); ++r)
    after.give(static_cast<int>(r), ranks[p.target.ranks[r]]);
  return wrong;
}

/// Runs the steps of a redistribution on a part of a mesh. Checks that each rank receives the
/// planned bytes, and that the tensor x is then at the placement where the plan ends.
void run_steps(ashlar::redistribution_plan const& plan, topology const& axes, dense const& x,
               replay& ranks) {
  naive_mesh const mesh(axes);
  std::vector<std::int64_t> received(ranks.coordinates().size(), 0);
  for (auto const& s : plan.steps) {
    auto const report = ranks.run(s);
    for (std::size_t r = 0; r < report.size(); ++r)
      received[r] += received_in(s, mesh, ranks.coordinates()[r], report[r]) * plan.element_size;
  }
  for (std::size_t r = 0; r < received.size(); ++r)
    CHECK(received[r] == plan.received_bytes(axes, axes.coordinates_of(static_cast<int>(r))));
  CHECK(ranks.difference(x, plan.to) == "");
}

struct replay_counts {
  int plans = 0;
  int unreduced = 0;  ///< plans in which a tensor crosses as several addends
};

/// Returns a matrix with these extents, and values of both signs.
dense matrix_of(shape const& extents) {
  dense x{{static_cast<int>(extents[0]), static_cast<int>(extents[1])}, {}};
  for (std::int64_t i = 0; i < extents.elements(); ++i)
    x.values.push_back(static_cast<double>(7 * i % 23 - 11));
  return x;
}

/// Plans the move of the matrix x from placement p on the source to placement q on the target, and
/// replays the plan.
void replay_move(dense const& x, mesh_part const& source, placement const& p,
                 mesh_part const& target, placement const& q, topology const& whole,
                 std::mt19937& random, replay_counts& count) {
  shape const extents{{x.extents[0], x.extents[1]}};
  auto const plan = plan_cross_mesh(extents, 4, source, p, target, q, whole,
                                    ashlar::machines::gpu_cluster);
  INFO(to_string(p), " to ", to_string(q), " of ", to_string(extents));
  replay before(x.extents, source.axes), after(x.extents, target.axes);
  before.start(x, p, random);
  run_steps(plan.before, source.axes, x, before);
  int const sent = ashlar::detail::addends_of(plan.before.to, source.axes);
  CHECK(sent == ashlar::detail::addends_of(plan.after.from, target.axes));
  count.unreduced += sent > 1;
  CHECK(replayed_crossing(extents, plan, whole, before, after) == "");
  CHECK(after.difference(x, plan.after.from) == "");
  run_steps(plan.after, target.axes, x, after);
  CHECK(plan.after.to == q);
  ++count.plans;
}

}  // namespace

TEST_CASE("plans between parts of up to three axes, replayed index by index") {
  topology const whole({{"node", 6}, {"gpu", 4}});
  auto const part = [&](std::vector<int> ranks, topology const& axes) {
    return part_of(whole, ranks, axes);
  };
  std::vector<std::pair<mesh_part, mesh_part>> const pairs{
      {part({0, 1, 2, 3, 4, 5, 6, 7}, {{"a", 2}, {"b", 2}, {"c", 2}}),
       part({8, 9, 12, 13, 16, 17, 10, 11}, {{"a", 2}, {"b", 2}, {"c", 2}})},
      {part({0, 4, 8, 12, 16, 20}, {{"a", 1}, {"b", 3}, {"c", 2}}),
       part({1, 2, 3, 5}, {{"a", 2}, {"b", 2}})},
      {part({7, 6}, {{"a", 2}}),
       part({0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21}, {{"a", 2}, {"b", 3}, {"c", 2}})},
      {part({3}, {{"a", 1}}), part({0, 1, 2}, {{"a", 3}})}};
  std::mt19937 random(11);
  replay_counts done;
  for (auto const& [one, two] : pairs)
    for (auto const& [source, target] : {std::pair{one, two}, std::pair{two, one}})
      for (shape const& extents : {shape{{5, 7}}, shape{{4, 6}}, shape{{1, 3}}, shape{{0, 2}}}) {
        bool const all = extents[0] == 5;
        auto from = all_placements(2, source.axes.axes(), all_reductions);
        auto to = all_placements(2, target.axes.axes(), all_reductions);
        std::shuffle(from.begin(), from.end(), random);
        std::shuffle(to.begin(), to.end(), random);
        auto const x = matrix_of(extents);
        // For the first extents, each placement occurs on each side. For the other extents, only
        // some placements occur.
        auto const count = std::max(from.size(), to.size()) / (all ? 1 : 4) + 1;
        for (std::size_t k = 0; k < count; ++k)
          replay_move(x, source, from[k % from.size()], target, to[k % to.size()], whole, random,
                      done);
      }
  CHECK(done.plans > 1000);
  CHECK(done.unreduced > 50);
  MESSAGE(done.plans, " plans, of which ", done.unreduced, " cross as addends");
}

TEST_CASE("pairs of placements on up to three axes a side, replayed index by index") {
  topology const whole({{"node", 4}, {"gpu", 4}}), two({{"a", 2}}), four({{"a", 2}, {"b", 2}}),
      eight({{"a", 2}, {"b", 2}, {"c", 2}});
  auto const x = matrix_of({{5, 3}});  // some shards are empty
  std::mt19937 random(12);
  replay_counts done;
  std::size_t pairs = 0, of_three = 0;
  auto const ranks_from = [](int first, int n) {
    std::vector<int> ranks;
    for (int r = first; r < first + n; ++r) ranks.push_back(r);
    return ranks;
  };
  for (topology const& one : {two, four, eight})
    for (topology const& other : {two, four, eight}) {
      auto const source = part_of(whole, ranks_from(0, one.ranks()), one);
      auto const target = part_of(whole, ranks_from(8, other.ranks()), other);
      bool const all = wants_all("ASHLAR_CROSSINGS") || std::max(one.axes(), other.axes()) < 3;
      for (auto const& p : all_placements(2, one.axes()))
        for (auto const& q : all_placements(2, other.axes())) {
          of_three += one.axes() == 3 && other.axes() == 3;
          if (all || pairs % 61 == 0) replay_move(x, source, p, target, q, whole, random, done);
          ++pairs;
        }
    }
  CHECK(pairs == (4 + 18 + 92) * (4 + 18 + 92));
  CHECK(of_three == 92 * 92);
  if (wants_all("ASHLAR_CROSSINGS")) CHECK(done.plans == int(pairs));
  CHECK(done.plans >= (4 + 18) * (4 + 18));
  CHECK(done.unreduced > 0);
  MESSAGE(done.plans, " of ", pairs, " pairs, of which ", done.unreduced, " cross as addends");
}

}  // namespace ashlar_test
