// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search on nets with mixtures of experts. The exact search must find the cost that
// enumeration finds, and no baseline may be cheaper. A routed tensor must have rows only for the
// experts that each token chooses, and the rank with the most rows must determine prices and
// memory. Expert parallelism must move tokens by all-to-alls. No pipeline stage may end within a
// mixture.

#include <cmath>

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/hidup_models.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/stages.hpp>

namespace nn = ashlar::nn;
namespace search = ashlar::search;

namespace {

int element_named(search::problem const& net, char const* name) {
  for (int i = 0; i < net.size(); ++i)
    if (net.spec(i).name == search::label(name)) return i;
  return -1;
}

}  // namespace

TEST_CASE("a routed tensor has the elements of the experts that are chosen") {
  ashlar::shape s{6, 8, 5};
  CHECK(s.elements() == 240);
  s.chosen = 2;
  CHECK(s.elements() == 60);
  CHECK(to_string(s) == "6x2/8x5");
  ashlar::topology const t{{"gpu", 2}};
  CHECK(max_local_elements(s, t, ashlar::parse_placement("S(1)")) == 30);
  CHECK(max_local_elements(s, t, ashlar::parse_placement("P")) == 60);
}

TEST_CASE("the search over nets with experts is exact, and no baseline is cheaper") {
  auto const net = search::any_length(nn::describe(
      nn::chain(nn::linear(6, 8), nn::moe(8, {.experts = 4, .chosen = 1, .hidden = 12})),
      ashlar::shape{12, 6}, 1));
  for (auto const& t : {ashlar::topology{{"gpu", 2}}, ashlar::topology{{"gpu", 4}}})
    for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster}) {
      auto const plan = search::optimal(net, t, m);
      auto const all = search::exhaustive(net, t, m);
      CHECK(plan.seconds == ashlar_test::relative(all.seconds));
    }
  auto const gpt = search::any_length(
      nn::describe(nn::moe_gpt({2, 64, 4, 300}, {.experts = 8}), nn::token_batch{16, 32}));
  ashlar::topology const t{{"node", 2}, {"gpu", 4}};
  auto const& m = ashlar::machines::gpu_cluster;
  auto const best = search::optimal(gpt, t, m).seconds;
  CHECK(best <= search::data_parallel(gpt, t, m).seconds);
  CHECK(best <= search::expert_parallel(gpt, t, m).seconds);
  CHECK(best <= search::zero_3(gpt, t, m).seconds);
  CHECK(best <= search::tensor_parallel(gpt, t, m).seconds);
}

TEST_CASE("the fullest shard counts with more rows where experts are split") {
  ashlar::shape s{6, 8, 5};
  s.chosen = 2;
  s.fullest = 1500;
  ashlar::topology const t{{"gpu", 2}};
  auto const most = [&](char const* text) {
    return max_local_elements(s, t, ashlar::parse_placement(text));
  };
  CHECK(s.elements() == 60);
  CHECK(most("S(1)") == 45);
  CHECK(most("S(0)") == 30);
  CHECK(most("P") == 60);
  s.fullest = 5000;
  CHECK(most("S(1)") == 60);  // no rank can have more than all rows of all tokens
  s.chosen = 1;
  s.fullest = 1001;
  CHECK(most("S(1)") == 16);  // 15 x 1.001, rounded up
}

TEST_CASE("prices and memory of mixtures count with the fullest rank") {
  auto const net_of = [](double imbalance) {
    return search::any_length(
        nn::describe(nn::chain(nn::linear(6, 8),
                               nn::moe(8, {.experts = 8, .hidden = 12, .imbalance = imbalance})),
                     ashlar::shape{24, 6}, 1));
  };
  for (auto const& t : {ashlar::topology{{"gpu", 4}}, ashlar::topology{{"node", 2}, {"gpu", 2}}})
    for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster}) {
      double seconds = 0;
      std::int64_t memory = 0;
      auto const experts = search::expert_parallel(net_of(1), t, m);
      for (double const imbalance : {1.0, 1.2, 2.0, 4.0}) {
        auto const net = net_of(imbalance);
        auto const plan = search::optimal(net, t, m);
        // The search takes prices from tables, and total_cost prices each part of the plan anew.
        // Both must give the same seconds.
        CHECK(plan.seconds == ashlar_test::relative(total_cost(net, plan, m).seconds()));
        if (t.axes() == 1)
          CHECK(plan.seconds == ashlar_test::relative(search::exhaustive(net, t, m).seconds));
        auto fixed = experts;
        search::predict(fixed, net, m);
        CHECK(plan.seconds <= fixed.seconds * (1 + 1e-9));
        CHECK(fixed.seconds > seconds);
        CHECK(fixed.memory >= memory);
        seconds = fixed.seconds;
        memory = fixed.memory;
      }
      auto const data = search::data_parallel(net_of(1), t, m);
      CHECK(total_cost(net_of(4), data, m).seconds() == data.seconds);
    }
  // On four ranks, an imbalance of 4 or more means that one rank has all work of the experts.
  auto const e = net_of(8).spec(2);
  search::layer_choice c;
  c.x = c.y = ashlar::parse_placement("S(1)");
  for (int k = 0; k < 2; ++k) c.parameters.push_back({ashlar::parse_placement("S(0)"), {}, {}});
  CHECK(work_fraction(e, c, {{"gpu", 4}}) == 1);
  CHECK(work_fraction(net_of(1).spec(2), c, {{"gpu", 4}}) == 0.25);
  CHECK(work_fraction(net_of(1.5).spec(2), c, {{"gpu", 4}}) == doctest::Approx(0.375));
  for (double const wrong : {0.5, -1.0, 0.0, 1e9, std::nan("")})
    CHECK_THROWS_WITH_AS(net_of(wrong),
                         doctest::Contains("It is the tokens of the fullest rank over "
                                           "the mean: give 1, if all ranks have equally "
                                           "many, or more, up to 1000."),
                         ashlar::error);
}

TEST_CASE("expert parallelism moves tokens with all-to-alls, there and back") {
  auto const net = search::any_length(
      nn::describe(nn::bert_moe({.experts = 8, .chosen = 2}), nn::token_batch{64, 64}));
  ashlar::topology const t{{"gpu", 8}};
  auto const plan = search::expert_parallel(net, t, ashlar::machines::gpu_cluster);
  int const e = element_named(net, "experts");
  CHECK(plan[e - 1].y[0].is_split_of(0));
  CHECK(plan[e].x[0].is_split_of(2));
  CHECK(plan[e + 1].x[0].is_split_of(0));
  CHECK(plan[e].parameters[0].use[0].is_split_of(0));
}

TEST_CASE("no stage of a pipeline ends within a mixture of experts") {
  auto const net = search::any_length(nn::describe(
      nn::chain(nn::linear(6, 8), nn::moe(8), nn::linear(8, 3)), ashlar::shape{12, 6}, 1));
  CHECK(search::detail::cutting_points(net) == std::vector<int>{0, 1, 4, 5, 6});
}
