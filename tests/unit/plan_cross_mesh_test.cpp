// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests plans between two parts of a mesh. A plan must be the cheapest over all pairs of placements
// between which the tensor can cross. Comparing costs must lead to the strategies of the paper on
// cross-mesh resharding.

#include <array>
#include <sstream>

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>
#include <support/relative.hpp>

#include <ashlar/placement/text.hpp>
#include <ashlar/plan/cross_mesh.hpp>
#include <ashlar/plan/crossing/text.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar;

/// A machine like p3.8xlarge: four V100 with NVLink in a node, 10 Gb/s between nodes.
machine const p3_machine{{5e-6, 2e-11}, {50e-6, 8e-10}, 1e13, 8e11, 0};
topology const four_nodes({{"node", 4}, {"gpu", 4}});

std::vector<mesh_part> halves() {
  std::vector<mesh_part> parts;
  for (int h = 0; h < 2; ++h) {
    std::vector<int> ranks;
    for (int r = 0; r < 8; ++r) ranks.push_back(8 * h + r);
    parts.push_back(part_of(four_nodes, ranks, {{"node", 2}, {"gpu", 4}}));
  }
  return parts;
}

cross_mesh_plan between_halves(shape const& s, char const* from, char const* to) {
  auto const h = halves();
  return plan_cross_mesh(s, 4, h[0], parse_placement(from), h[1], parse_placement(to), four_nodes,
                         p3_machine);
}

}  // namespace

TEST_CASE("no pair of placements is cheaper") {
  topology const whole({{"node", 6}, {"a", 2}, {"b", 2}});
  int const first[]{0, 1, 2, 3}, second[]{4, 5, 6, 7}, some[]{0, 1, 4, 5}, others[]{2, 3, 6};
  int const three[]{8, 12, 13, 16, 17, 20}, four[]{0, 4, 1, 5};
  std::vector<std::pair<mesh_part, mesh_part>> const pairs{
      {part_of(whole, first, {{"a", 2}, {"b", 2}}), part_of(whole, second, {{"a", 2}, {"b", 2}})},
      {part_of(whole, some, {{"a", 2}, {"b", 2}}), part_of(whole, others, {{"a", 3}, {"b", 1}})},
      {part_of(whole, four, {{"a", 2}, {"b", 2}}), part_of(whole, three, {{"a", 2}, {"b", 3}})},
      {part_of(whole, three, {{"a", 3}, {"b", 2}}), part_of(whole, four, {{"a", 2}, {"b", 2}})}};
  machine const latency{{1e-4, 1e-11}, {1e-3, 1e-10}, 1e13, 8e11, 0},
      equal{{1e-6, 1e-9}, {1e-6, 1e-9}, 1e13, 8e11, 0};
  int turn = 0;
  for (auto const& [source, target] : pairs)
    for (shape const& s : {shape{{6, 5}}, shape{{512, 384}}, shape{{131, 97}}}) {
      auto const all = all_placements(2, 2);
      for (std::size_t i = 0; i < all.size(); i += 2)
        for (std::size_t j = 1; j < all.size(); j += 5) {
          machine const& m = *std::array{&p3_machine, &latency, &equal,
                                         &machines::gpu_cluster}[std::size_t(turn++ % 4)];
          auto const p = plan_cross_mesh(s, 4, source, all[i], target, all[j], whole, m);
          CHECK(p.before.from == all[i]);
          CHECK(p.after.to == all[j]);
          double best = 1e300;
          for (auto const& a : all)
            for (auto const& b : all) {
              // The tensor may cross as several addends only if it has addends on the source.
              // Otherwise it crosses as one tensor. If the target needs several addends, it adds
              // zeros as the other addends after the crossing.
              if ((a.has_partial() && !all[i].has_partial()) ||
                  detail::addends_of(a, source.axes) != detail::addends_of(b, target.axes))
                continue;
              best = std::min(best,
                              plan_redistribution(s, 4, all[i], a, source.axes, m).seconds +
                                  plan_crossing(s, 4, source, a, target, b, whole, m).seconds +
                                  plan_redistribution(s, 4, b, all[j], target.axes, m).seconds);
            }
          CHECK(p.seconds == relative(best));
        }
    }
}

TEST_CASE("strategies are found by cost") {
  shape const large{{1024, 1024, 64}}, small{{4, 4, 4}};
  double const t = double(large.elements()) * 4 * p3_machine.inter.beta;
  // Both sides are replicated. Each node sends one half, which the target's nodes pass on to each
  // other.
  auto const copies = between_halves(large, "B,B", "B,B");
  CHECK(copies.seconds < 1.05 * t);
  CHECK(copies.seconds >= t);
  // Partial sums are reduced before they cross, because the addends of 8 ranks have 8 times the
  // bytes.
  auto const sums = between_halves(large, "P,P", "S(0),B");
  CHECK_FALSE(sums.before.steps.empty());
  CHECK_FALSE(sums.before.to.has_partial());
  // For small tensors, the addends cross without a reduction, because the latencies of reducing
  // them cost more than the additional bytes.
  auto const addends = between_halves(small, "B,P", "B,P");
  CHECK(addends.before.to.has_partial());
  CHECK(addends.after.from.has_partial());
  CHECK_FALSE(between_halves(large, "B,P", "B,P").before.to.has_partial());
  // A move to a partial target takes no longer than one to a replicated target, because ranks
  // without an addend hold zeros.
  CHECK(between_halves(large, "S(0),B", "P,P").seconds <=
        between_halves(large, "S(0),B", "B,B").seconds);
  CHECK(between_halves(small, "B,B", "B,B").across.chunks == 1);
  CHECK(between_halves(shape{{0, 4, 4}}, "S(0),B", "B,B").seconds == 0);
}

TEST_CASE("a plan is printed as it runs") {
  topology const whole({{"node", 4}, {"gpu", 2}});
  int const first[]{0, 1, 2, 3}, second[]{4, 5, 6, 7};
  auto const p = plan_cross_mesh(
      {{4096, 1024}}, 4, part_of(whole, first, {{"node", 2}, {"gpu", 2}}),
      parse_placement("P,S(0)"), part_of(whole, second, {{"node", 2}, {"gpu", 2}}),
      parse_placement("S(1),B"), whole, p3_machine);
  std::ostringstream text;
  text << cross_mesh_report{p, whole, p3_machine};
  CHECK(text.str() ==
        "4096x1024 [P,S(0)]@node=2,gpu=2 -> [S(1),B]@node=2,gpu=2 on other ranks of "
        "node=4,gpu=2, 13.61 ms\n"
        "  source: reduce-scatter along node: [P,S(0)] -> [S(1),S(0)], 4.00 MiB, 6.76 ms\n"
        "  crossing: [S(1),S(0)] -> [S(1),B], 4 tasks in 1 chunk, 6.85 ms, at least 6.71 ms\n"
        "    round 0, between nodes: 0 -> 2 8.00 MiB, 1 -> 3 8.00 MiB\n"
        "    round 0, ranks of node 2: 0 -> 1 4.00 MiB, 1 -> 0 4.00 MiB\n"
        "    round 0, ranks of node 3: 0 -> 1 4.00 MiB, 1 -> 0 4.00 MiB\n");
}

}  // namespace ashlar_test
