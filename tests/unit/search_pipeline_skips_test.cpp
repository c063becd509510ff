// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests pipeline plans of chains with skips, which may be cut:
// - The search finds the fastest of all cuts, warm-up depths and splits of backward passes. Its
//   times include the transfers of skips and of tied parameters.
// - Both ends of a skip have the same placements, even under a tight memory limit.
// - The predicted memory of a part covers the values that its program keeps for skips.
// - Cuts inside skips can be written as text and read back.

#include <functional>

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/search/cut_text.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/step/build_stage.hpp>
#include <ashlar/step/high_water.hpp>

#include "search_enumerations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace pipelines = ashlar::pipelines;

/// Returns a chain of `levels` nested skips. Each skip contains a layer before the next level, and
/// is followed by a layer. Work and saved values are random. If `tied` is true, a layer at the
/// beginning and a layer in the middle share one parameter.
search::problem u_net(random_cases& draw, int levels, shape const& x, int m, bool tied = false) {
  search::problem net;
  net.micro_batches = m;
  auto const map = [&](search::problem& p, shape const& own) {
    auto spec = map_spec("map", own, ashlar::nonlinear_training_rows("md"), draw.below(3));
    double const work = draw.log_uniform(0.3, 3);
    spec.forward_values *= work;
    spec.backward_values *= work;
    p.add(spec);
  };
  std::function<shape(search::problem&, int)> const level = [&](search::problem& p, int left) {
    map(p, x);
    if (left == 0) {
      if (tied) p.add(linear_spec(x, x[1]));
      return x;
    }
    shape const y = add_skip(p, x, [&](search::problem& inner) { return level(inner, left - 1); });
    p.add(linear_spec(y, x[1]));
    return x;
  };
  if (tied) net.add(linear_spec(x, x[1]));
  level(net, levels);
  net.add(cross_entropy_spec(x));
  int later = 1;
  while (tied && net.spec(later).parameters.empty()) ++later;
  if (tied) net.add_tie({0, 0, later, 0});
  return net;
}

}  // namespace

TEST_CASE(
    "the search finds the fastest of all cuts, also of those inside skips, and of all orders") {
  int inside = 0, apart = 0;
  for (unsigned seed = 1; seed <= 32; ++seed) {
    random_cases draw(seed);
    int const parts = 2 + draw.below(2), levels = 1 + draw.below(5 - parts);
    int const batches = 1 + draw.below(5);
    shape const x{2 + draw.below(4), 2 + draw.below(4)};
    bool const tied = seed % 2 == 0;
    auto const machine = draw.machine();
    auto const make = [&](int m) {
      random_cases again(seed + 100);
      return u_net(again, levels, x, m, tied);
    };
    ashlar::topology const t{{"node", parts, ashlar::link_tier::inter_node}};
    auto const net = make(batches);
    auto const mesh = search::stage_mesh(t, 0, parts);
    auto const chosen = search::optimal(net, mesh, machine);
    auto const points = search::detail::cutting_points(net);
    CHECK(points.size() == std::size_t(net.size()) + 1);
    for (auto const* name :
         {"1f1b", "gpipe", "eager", "interleaved", "searched", "zb_h1", "zb_v"}) {
      auto const choice = search::schedule_choices(name, {2}).front();
      int const stages = parts * choice.chunks;
      if (!choice.permits(parts, batches) || stages > net.size()) continue;
      CAPTURE(seed);
      CAPTURE(std::string(name));
      double best = 0;
      for_each_cut(points, stages, [&](auto const& limits) {
        auto const price = [&](pipelines::schedule const& order) {
          auto const p = search::price_pipeline(net, chosen, limits,
                                                std::vector<int>(std::size_t(stages)), 0, batches,
                                                machine, order);
          if (best == 0 || p.seconds() < best) best = p.seconds();
          return p;
        };
        if (choice.kind == search::schedule_kind::searched)
          return for_each_depths(parts, batches, {}, [&](auto const& depths) {
            price(pipelines::with_warm_ups(depths, batches));
          });
        auto const order = search::make_schedule(choice, parts, batches, {}, {});
        if (!choice.fits_costs()) return void(price(order));
        auto const p = search::price_pipeline(
            net, chosen, limits, std::vector<int>(std::size_t(stages)), 0, batches, machine, order);
        price(search::make_schedule(choice, parts, batches, costs_of(p), {}, p.skips));
      });
      auto const found = search::pipeline(make, t, machine,
                                          {{parts}, {batches}, {name}, {2}, true});
      CHECK(found.seconds() == relative(best));
      CHECK(found.lower_bound <= found.seconds());
      inside += !found.skips.empty();
      apart += tied && found.stages[0].last <= net.ties[0].later;
    }
  }
  CHECK(inside > 20);
  CHECK(apart > 20);
}

TEST_CASE("a stage sends the tensors at its ends and those of its skips") {
  search::problem net;
  shape const x{8, 12};
  shape const joined = add_skip(net, x, [&](search::problem& p) {
    p.add(linear_spec(x, 5));
    p.add(linear_spec({8, 5}, 12));
    return x;
  });
  net.add(linear_spec(joined, 12));
  net.micro_batches = 3;
  auto const& machine = ashlar::machines::gpu_cluster;
  ashlar::topology const t{{"gpu", 2}};
  auto const chosen = search::optimal(net, search::stage_mesh(t, 0, 2), machine);
  // The cut is between the two linear layers inside the skip.
  auto const p = search::price_pipeline(net, chosen, {0, 2, net.size()}, {0, 0}, 0, 3, machine,
                                        pipelines::one_f_one_b(2, 3));
  REQUIRE(p.skips.size() == 1);
  CHECK(p.stages[0].sent == 4 * (8 * 5 + 8 * 12));
  CHECK(p.stages[1].sent == 4 * (8 * 5 + 8 * 12));
}

TEST_CASE("stages that recompute until they fit have room for their skips") {
  int fit = 0, again = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    random_cases draw(seed);
    auto net = u_net(draw, 3, {8, 12}, 4);
    std::vector const limits{0, net.size() / 2, net.size()};
    for (int i = 0; i < net.size(); ++i) net[i].segment = i / 3;
    net.segments = (net.size() + 2) / 3;
    for (auto& layer : net.layers) layer.saved_values += 4 * 96;
    auto const machine = draw.machine();
    ashlar::topology const t{{"gpu", 2}};
    auto const chosen = search::optimal(net, t, machine);
    auto const order = pipelines::gpipe(2, 4);
    search::crossing_prices crossings(t, 0, machine);
    search::stage_model model(net, chosen, machine, crossings);
    auto const memory = [&](std::vector<int> const& recomputed) {
      return search::price_pipeline(net, chosen, limits, recomputed, 0, 4, machine, order)
          .chosen.memory;
    };
    auto const most = memory({0, 0});
    for (int percent = 40; percent < 100; percent += 2) {
      auto const limit = most * percent / 100;
      auto const found = search::recompute_to_fit(model, limits, order, limit);
      if (!found) continue;
      CHECK(memory(*found) <= limit);
      ++fit;
      again += (*found)[1] > 0;
    }
  }
  CHECK(fit > 50);
  CHECK(again > 20);
}

TEST_CASE("both ends of a skip have the same placements, also if stages are searched alone") {
  int fit = 0, inside = 0;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    random_cases draw(seed);
    int const levels = 1 + draw.below(3);
    auto machine = draw.machine();
    ashlar::topology const t{{"node", 2, ashlar::link_tier::inter_node},
                             {"gpu", 4, ashlar::link_tier::intra_node}};
    auto const make = [&](int m) {
      random_cases again(seed + 100);
      return u_net(again, levels, {8, 12}, m);
    };
    auto const net = make(4);
    search::pipeline_options const how{{2}, {4}, {"1f1b"}, {1}, true};
    auto const any = search::pipeline(make, t, machine, how);
    for (int const eighths : {8, 7, 6, 5}) {
      machine.memory = any.chosen.memory * eighths / 8;
      try {
        auto const found = search::pipeline(make, t, machine, how);
        CHECK(found.chosen.memory <= machine.memory);
        CHECK(found.lower_bound <= found.seconds());
        for (int i = 0; i < net.size(); ++i)
          if (net[i].partner >= 0) CHECK(found.chosen[i] == found.chosen[net[i].partner]);
        ++fit;
        inside += !found.skips.empty();
      } catch (ashlar::error const&) {  // no plan fits in memory
      }
    }
  }
  CHECK(fit > 20);
  CHECK(inside > 10);
}

TEST_CASE("the predicted memory of a part covers what its program keeps of skips") {
  double most = 0, least = 2;
  int needed = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    random_cases draw(seed);
    int const positions = 2 + draw.below(3), m = 2 * positions;
    auto const net = u_net(draw, 3, {64, 32}, m);
    ashlar::topology const whole{{"stage", positions}, {"gpu", 1}};
    auto const mesh = search::stage_mesh(whole, 0, positions);
    auto const& machine = ashlar::machines::gpu_cluster;
    auto const chosen = search::optimal(net, mesh, machine);
    for (auto const& order : {pipelines::one_f_one_b(positions, m), pipelines::gpipe(positions, m),
                              pipelines::eager(positions, m)}) {
      std::vector<int> limits{0};
      for (int s = 1; s < positions; ++s) limits.push_back(net.size() * s / positions);
      limits.push_back(net.size());
      auto const p = search::price_pipeline(
          net, chosen, limits, std::vector<int>(std::size_t(positions)), 0, m, machine, order);
      search::pipeline_part part{0, order, limits, whole, divided(whole, 0, positions)};
      for (int s = 0; s < positions; ++s) {
        part.position = s;
        auto const program = build_stage(net, p.chosen, machine, part);
        auto const found = high_water(program).peak;
        auto const predicted = p.stages[std::size_t(s)].memory;
        CAPTURE(seed);
        CAPTURE(s);
        auto const skips = search::held_for_skips(order, s,
                                                  search::bytes_of_skips(net, p.chosen, limits));
        needed += found > predicted - skips;
        CHECK(found <= predicted);
        most = std::max(most, double(found) / double(predicted));
        least = std::min(least, double(found) / double(predicted));
      }
    }
  }
  MESSAGE("memory of programs from " << least << " to " << most << " of that predicted");
  CHECK(least > 0.7);
  CHECK(needed > 10);
}

TEST_CASE("cuts inside skips as text") {
  random_cases draw(1);
  auto const net = u_net(draw, 2, {4, 4}, 1);
  std::vector<int> const limits{0, 2, 4, 7, net.size()};
  auto const text = search::cut_text(net, limits);
  CHECK(text == "map skip | map skip | map skip linear | skip linear cross_entropy");
  CHECK(search::parse_cut(net, text) == limits);
}

}  // namespace ashlar_test
