// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Replays plans between two parts of a mesh, of up to three axes each, index by index in one
// process: the steps on the source, the messages of the crossing, and the steps on the target. All
// placements of a matrix occur on both sides, with sums, maxima and minima whose addends differ.
// Some tensors cross as several addends.

#include <map>
#include <random>

#include <doctest/doctest.h>
#include <support/replay.hpp>

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
  int replayed = 0, unreduced = 0;
  for (auto const& [one, two] : pairs)
    for (auto const& [source, target] : {std::pair{one, two}, std::pair{two, one}})
      for (shape const& extents : {shape{{5, 7}}, shape{{4, 6}}, shape{{1, 3}}, shape{{0, 2}}}) {
        bool const all = extents[0] == 5;
        auto from = all_placements(2, source.axes.axes(), all_reductions);
        auto to = all_placements(2, target.axes.axes(), all_reductions);
        std::shuffle(from.begin(), from.end(), random);
        std::shuffle(to.begin(), to.end(), random);
        dense x{{static_cast<int>(extents[0]), static_cast<int>(extents[1])}, {}};
        for (std::int64_t i = 0; i < extents.elements(); ++i)
          x.values.push_back(static_cast<double>(7 * i % 23 - 11));
        // For the first extents, each placement occurs on each side. For the other extents, some
        // occur.
        auto const count = std::max(from.size(), to.size()) / (all ? 1 : 4) + 1;
        for (std::size_t k = 0; k < count; ++k) {
          auto const &p = from[k % from.size()], &q = to[k % to.size()];
          auto const plan = plan_cross_mesh(extents, 4, source, p, target, q, whole,
                                            ashlar::machines::gpu_cluster);
          INFO(to_string(p), " to ", to_string(q), " of ", to_string(extents));
          replay before(x.extents, source.axes), after(x.extents, target.axes);
          before.start(x, p, random);
          for (auto const& s : plan.before.steps) before.run(s);
          CHECK(before.difference(x, plan.before.to) == "");
          int const sent = ashlar::detail::addends_of(plan.before.to, source.axes);
          CHECK(sent == ashlar::detail::addends_of(plan.after.from, target.axes));
          unreduced += sent > 1;
          CHECK(replayed_crossing(extents, plan, whole, before, after) == "");
          CHECK(after.difference(x, plan.after.from) == "");
          for (auto const& s : plan.after.steps) after.run(s);
          CHECK(after.difference(x, q) == "");
          ++replayed;
        }
      }
  CHECK(replayed > 1000);
  CHECK(unreduced > 50);
  MESSAGE(replayed, " plans, of which ", unreduced, " cross as addends");
}

}  // namespace ashlar_test
