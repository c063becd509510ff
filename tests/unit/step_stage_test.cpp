// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the programs of the parts of a pipeline. Each program must be correct by itself, before and
// after the passes that overlap transfers. All programs together must finish, even if every
// transfer waits until both of its ends have begun. No program needs more memory than the price of
// the pipeline says.

#include <map>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/cut_skips.hpp>
#include <ashlar/step/high_water.hpp>

#include "step_programs.hpp"
#include "step_run_together.hpp"

namespace ashlar_test {
namespace {

using search::action_kind;

/// Returns the number of computations of each kind, summed over all elements and micro-batches.
std::map<action_kind, int> computations(std::vector<search::program> const& parts) {
  std::map<action_kind, int> count;
  for (auto const& p : parts)
    for (auto const& a : p.actions)
      if (computes(a.kind)) ++count[a.kind];
  return count;
}

}  // namespace

TEST_CASE("programs of a pipeline's parts are right, and run together") {
  random_cases draw(7);
  int tried = 0, skips = 0;  // `skips` counts the skips that go from one stage to another
  double most = 0, least = 2;
  for (int turn = 0; turn < 120; ++turn) {
    auto net = draw.net();
    vary(net, draw);
    int const positions = 2 + draw.below(3);
    net.micro_batches = draw.below(2) ? positions : 1 + draw.below(6);
    ashlar::machine const m = draw.machine();
    ashlar::topology const whole{{"stage", positions}, {"gpu", 2}}, one{{"stage", 1}, {"gpu", 2}};
    for (auto const& order : pipelines_for(positions, net.micro_batches)) {
      auto const limits = any_limits(net, order, draw);
      if (limits.empty()) continue;
      std::vector<int> recomputed;
      for (int s = 0; s < order.stages(); ++s) {
        auto const k = static_cast<std::size_t>(s);
        recomputed.push_back(
            draw.below(1 + search::stage_of(net, limits[k], limits[k + 1], 1).segments));
      }
      auto const chain = search::in_stages(net, limits, recomputed);
      auto plan = any_plan(chain, one, m, draw);
      plan.recomputed = chain.recomputed;
      search::pipeline_part part{0, order, limits, whole, divided(whole, 0, positions)};
      part.receives_ahead = tried % 3 > 0;
      auto const programs = right_programs(chain, plan, m, part);
      CHECK(computations(programs) == computations({build(chain, plan, m)}));
      auto const priced = search::price_pipeline(net, plan, limits, recomputed, 0,
                                                 net.micro_batches, m, order);
      for (int p = 0; p < positions; ++p) {
        CAPTURE(to_string(order));
        CAPTURE(p);
        auto const needed = high_water(programs[std::size_t(p)]).peak;
        auto const predicted = priced.stages[std::size_t(order.stage_of(p, 0))].memory;
        CHECK(needed <= predicted);
        most = std::max(most, double(needed) / double(predicted));
        least = std::min(least, double(needed) / double(predicted));
      }
      ++tried;
      skips += static_cast<int>(cut_skips(chain, limits).size());
    }
  }
  CHECK(tried > 100);
  CHECK(skips > 50);
  MESSAGE("memory of programs from " << least << " to " << most << " of that predicted");
  CHECK(most > 0.99);
}

TEST_CASE("a part's program has at most as many elements as other programs") {
  random_cases draw(7);
  auto net = block_net(2, {4, 3}, 2);
  auto const order = ashlar::pipelines::gpipe(2, 1);
  ashlar::topology const whole{{"stage", 2}, {"gpu", 2}}, one{{"stage", 1}, {"gpu", 2}};
  auto const limits = any_limits(net, order, draw);
  auto const chain = search::in_stages(net, limits, {0, 0});
  auto const plan = any_plan(chain, one, {}, draw);
  search::pipeline_part const part{0, order, limits, whole, divided(whole, 0, 2)};
  auto many = chain;
  many.micro_batches = 1 << 20;
  CHECK(has(message_of([&] { build_stage(many, plan, {}, part); }),
            " elements make a program that is too long. Give at most "));
}

}  // namespace ashlar_test
