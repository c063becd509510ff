// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Replays plans between two parts of a mesh, of up to three axes each, index by index in one
// process: the steps on the source, the messages of the crossing, and the steps on the target. All
// placements of a matrix occur on either side, with sums, maxima and minima whose addends differ.

#include <map>
#include <numeric>
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
using held_elements = std::map<int, std::int64_t>;  // from row-major index to value

/// Returns the values of a tensor that the rank at coordinates `c` holds under `p`.
held_elements shard_of(dense const& x, placement const& p, topology const& t, index const& c) {
  held_elements own;
  auto const items = held(x.extents, p, naive_mesh(t), c);
  for (int const i : items[0])
    for (int const j : items[1]) {
      int const at = i * x.extents[1] + j;
      own[at] = static_cast<std::int64_t>(x.values[static_cast<std::size_t>(at)]);
    }
  return own;
}

/// Carries out the messages of a crossing. Returns what is wrong, or an empty text.
std::string replayed_crossing(dense const& x, ashlar::cross_mesh_plan const& p,
                              topology const& whole) {
  std::map<int, held_elements> ranks;
  auto const each = [](mesh_part const& part, auto const& f) {
    auto const all = naive_mesh(part.axes).all_coordinates();
    for (std::size_t r = 0; r < all.size(); ++r) f(part.ranks[r], all[r]);
  };
  each(p.source,
       [&](int rank, index const& c) { ranks[rank] = shard_of(x, p.before.to, p.source.axes, c); });
  std::string wrong;
  for_each_transfer(p.across, whole, [&](ashlar::crossing_transfer const& t) {
    auto const& region = p.across.tasks[static_cast<std::size_t>(t.task)].region;
    for (std::int64_t k = t.begin; k < t.begin + t.size; ++k) {
      auto const row = region[0].begin + k / region[1].size,
                 column = region[1].begin + k % region[1].size;
      int const at = static_cast<int>(row) * x.extents[1] + static_cast<int>(column);
      auto const sent = ranks[t.from].find(at);
      if (sent == ranks[t.from].end()) wrong = "a rank sends what it has not";
      else if (!ranks[t.to].emplace(at, sent->second).second) wrong = "a rank receives twice";
    }
  });
  each(p.target, [&](int rank, index const& c) {
    if (ranks[rank] != shard_of(x, p.after.from, p.target.axes, c))
      wrong = "a rank of the target has not its shard";
  });
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
  int replayed = 0;
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
        // Each placement occurs on its side for the first extents, and some of them for the others.
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
          CHECK_FALSE(plan.before.to.has_partial());
          CHECK_FALSE(plan.after.from.has_partial());
          CHECK(replayed_crossing(x, plan, whole) == "");
          after.start(x, plan.after.from, random);
          for (auto const& s : plan.after.steps) after.run(s);
          CHECK(after.difference(x, q) == "");
          ++replayed;
        }
      }
  CHECK(replayed > 1000);
}

}  // namespace ashlar_test
