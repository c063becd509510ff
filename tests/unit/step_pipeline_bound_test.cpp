// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the lower bound of pipeline schedules against the best of all possible orders, and the
// schedules that searches find against the bound.

#include <algorithm>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <ashlar/step/pipeline/best_warm_ups.hpp>
#include <ashlar/step/pipeline/bound.hpp>
#include <ashlar/step/pipeline/check.hpp>

#include "step_pipeline_schedules.hpp"

namespace ashlar_test {
namespace {

using namespace ashlar::pipelines;

/// Returns various costs: equal stages with cheap and with expensive transfers, costs in which one
/// stage or one pass dominates, and random costs.
std::vector<pipeline_costs> several_costs(int stages) {
  std::vector<pipeline_costs> all;
  for (double const c : {0., 0.5, 2.}) all.push_back(equal(stages, 1, 1, 1, c));
  all.push_back(equal(stages, 1, 0.25, 3, 0.25));
  for (int slow : {0, stages - 1}) {
    all.push_back(equal(stages, 1, 1, 1, 0.25));
    all.back()[std::size_t(slow)] = {2, 3, 1, 0.5, 1};
  }
  std::mt19937 random(9);
  std::uniform_real_distribution<double> any(0, 2);
  for (int turn = 0; turn < 2; ++turn) {
    all.emplace_back();
    for (int k = 0; k < stages; ++k)
      all.back().push_back({any(random), any(random), any(random), any(random), any(random)});
  }
  return all;
}

/// Returns, for each of the given costs, the seconds of the best of all possible orders.
std::vector<double> best_of_all(schedule const& shape, bool split,
                                std::vector<pipeline_costs> const& costs) {
  std::vector<double> best(costs.size(), std::numeric_limits<double>::infinity());
  for_each_schedule(shape, part_orders(shape.chunks, shape.micro_batches, split, true),
                    [&](schedule const& s) {
                      for (std::size_t k = 0; k < costs.size(); ++k) {
                        double const seconds = seconds_of(s, costs[k]);
                        if (seconds < 0) return;  // this order deadlocks, whatever the costs are
                        best[k] = std::min(best[k], seconds);
                      }
                    });
  return best;
}

}  // namespace

TEST_CASE("no order takes less than the bound, and the best one often takes no more") {
  int reached = 0, compared = 0;
  auto const compare = [&](schedule const& shape, bool split) {
    auto const costs = several_costs(shape.stages());
    auto const best = best_of_all(shape, split, costs);
    for (std::size_t k = 0; k < costs.size(); ++k) {
      CAPTURE(shape.positions);
      CAPTURE(shape.micro_batches);
      CAPTURE(shape.chunks);
      CAPTURE(split);
      CAPTURE(k);
      double const least = bound(shape, costs[k], split);
      CHECK(least <= best[k] * (1 + 1e-12));
      ++compared;
      reached += best[k] <= least * (1 + 1e-12);
      // No order that a search finds may be faster than the best of all orders. With few
      // micro-batches, the found orders take at most a quarter longer than the best one.
      if (shape.chunks > 1) continue;
      auto const permitted = std::vector<int>(std::size_t(shape.positions), shape.micro_batches);
      double const found =
          split ? seconds_of(zb_h2(shape.positions, shape.micro_batches, costs[k]), costs[k])
                : seconds_of(with_warm_ups(best_warm_ups(shape.micro_batches, costs[k], permitted),
                                           shape.micro_batches),
                             costs[k]);
      CHECK(found >= best[k] * (1 - 1e-12));
      CHECK(found <= best[k] * 1.25);
    }
  };
  for (int s = 1; s <= 3; ++s)
    for (int m = 1; m <= 3; ++m)
      for (bool const split : {false, true}) compare({s, m, 1, wiring::straight, {}}, split);
  for (auto const wired : {wiring::straight, wiring::vee}) {
    for (int s = 1; s <= 3; ++s) compare({s, 1, 2, wired, {}}, false);
    for (int s = 1; s <= 2; ++s) compare({s, 1, 2, wired, {}}, true);
    for (int s = 1; s <= 2; ++s) compare({s, 2, 2, wired, {}}, false);
  }
  CHECK(reached > compared / 3);
}

TEST_CASE("no order takes less than the bound that counts skips and what follows the passes") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0, 2);
  int higher = 0, reached = 0, compared = 0;
  auto const compare = [&](schedule const& shape, bool split) {
    int const stages = shape.stages();
    for (int turn = 0; turn < 4; ++turn) {
      pipeline_costs costs;
      std::vector<double> after;
      for (int k = 0; k < stages; ++k) {
        costs.push_back({any(random), any(random), any(random), any(random), any(random)});
        after.push_back(turn % 2 * any(random));
      }
      skip_transfers skips;
      for (int from = 0; from < stages; ++from)
        for (int to = from + 1; to < stages; ++to) {
          bool const is_here = shape.position_of(from) == shape.position_of(to);
          double const more = is_here ? 0 : turn < 2 ? 1 : 4;
          if (any(random) > 1) skips.push_back({from, to, more * any(random), more * any(random)});
        }
      double best = std::numeric_limits<double>::infinity();
      for_each_schedule(shape, part_orders(shape.chunks, shape.micro_batches, split, true),
                        [&](schedule const& s) {
                          auto const ends = ends_of(s, costs, skips);
                          double last = -1;
                          for (int p = 0; p < int(ends.size()); ++p) {
                            if (ends[std::size_t(p)] < 0) return;  // this order deadlocks
                            double end = ends[std::size_t(p)];
                            for (int c = 0; c < s.chunks; ++c)
                              end += after[std::size_t(s.stage_of(p, c))];
                            last = std::max(last, end);
                          }
                          if (last >= 0) best = std::min(best, last);
                        });
      CAPTURE(shape.positions);
      CAPTURE(shape.micro_batches);
      CAPTURE(shape.chunks);
      CAPTURE(split);
      double const least = bound(shape, costs, split, skips, after);
      CHECK(least <= best * (1 + 1e-12));
      ++compared;
      higher += least > bound(shape, costs, split) * (1 + 1e-12);
      reached += best <= least * (1 + 1e-12);
    }
  };
  for (int s = 1; s <= 3; ++s)
    for (int m = 1; m <= 2; ++m)
      for (bool const split : {false, true}) compare({s, m, 1, wiring::straight, {}}, split);
  for (auto const wired : {wiring::straight, wiring::vee})
    for (int s = 1; s <= 2; ++s) compare({s, 1, 2, wired, {}}, false);
  MESSAGE(compared << " cases: " << higher << " bounds are higher for skips and what follows, "
                   << reached << " are reached");
  CHECK(higher > compared / 2);
  CHECK(reached > compared / 3);
}

TEST_CASE("seconds_of gives the seconds of the replay") {
  for (int s = 1; s <= 5; ++s)
    for (int m : {1, 2, 5, 10})
      for (auto const& made : all_schedules(s, m))
        for (auto const& costs : several_costs(made.stages()))
          CHECK(seconds_of(made, costs) == replay(made, costs).seconds);
  auto const stuck = parse_schedule("0: F0 B0 F1 B1\n1: F0 F1 B0 B1");
  CHECK(seconds_of(stuck, equal(2, 1, 1, 1, 0)) < 0);
  CHECK_FALSE(replay(stuck, equal(2, 1, 1, 1, 0)).complete);
}

TEST_CASE("the searched warm-ups come within a hundredth of the bound") {
  // 4 stages and 16 micro-batches, with forward passes of 1 s, backward passes of 2 s and transfers
  // of c seconds.
  for (double const c : {0., 0.25, 0.5, 1., 1.5, 2.}) {
    auto const costs = equal(4, 1, 1, 1, c);
    auto const found = with_warm_ups(best_warm_ups(16, costs, {16, 16, 16, 16}), 16);
    CAPTURE(c);
    CHECK(seconds_of(found, costs) <= bound(found, costs, false) * 1.01);
  }
  // With many positions and micro-batches, the searches try only some of the orders.
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(0.2, 2);
  for (int turn = 0; turn < 2; ++turn) {
    int const s = 64, m = 512;
    pipeline_costs costs;
    for (int k = 0; k < s; ++k) {
      double const f = turn == 0 ? 1 : any(random);
      costs.push_back({f, f, f, 0.7, 0.7});
    }
    auto const found = with_warm_ups(best_warm_ups(m, costs, std::vector<int>(s, m)), m);
    CAPTURE(turn);
    CHECK(seconds_of(found, costs) <= bound(found, costs, false) * 1.01);
  }
  auto const costs = equal(64, 1, 1, 1, 0);
  CHECK(seconds_of(zb_h1(64, 512), costs) == doctest::Approx(512 * 3 + 63));
  CHECK(seconds_of(zb_h2(64, 512), costs) == doctest::Approx(512 * 3 + 63));
  CHECK(seconds_of(zb_v(64, 512), equal(128, 1, 1, 1, 0)) == doctest::Approx(2 * 512 * 3 + 63));
}

}  // namespace ashlar_test
