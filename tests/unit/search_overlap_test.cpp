// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests search::optimal with problem::overlap, which minimizes the seconds with overlap. On the
// timeline, its plan must not be slower than the plan with the least seconds without overlap. No
// other plan may be faster than the bound that follows from its gap. For small nets on one axis the
// test tries all plans, for larger nets and on two axes random plans.

#include <vector>

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/algorithms.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/pipeline.hpp>

#include "search_enumerations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
using choice_lists = std::vector<std::vector<search::layer_choice>>;

double overlapped_seconds(search::problem const& net, search::plan const& p,
                          ashlar::machine const& m) {
  return search::detail::overlapped_program(net, p, m).seconds;
}

/// Returns the plan that consists of these choices, given by one index for each element.
search::plan plan_of(search::problem const& net, ashlar::topology const& t,
                     ashlar::machine const& m, choice_lists const& lists,
                     std::vector<std::size_t> const& at) {
  search::plan plan;
  plan.mesh = t;
  for (int i = 0; i < net.size(); ++i) {
    auto const own = static_cast<std::size_t>(i);
    if (net[i].kind == search::element_kind::residual_end)
      plan.choices.push_back(search::layer_choice(plan[net[i].partner]));
    else plan.choices.push_back(lists[own][at[own]]);
  }
  search::predict(plan, net, m);
  return plan;
}

choice_lists lists_of(search::problem const& net, ashlar::topology const& t) {
  choice_lists lists;
  for (int i = 0; i < net.size(); ++i) lists.push_back(search::layer_choices(net.spec(i), t));
  return lists;
}

/// Returns the least overlapped seconds of all plans.
double least_of_all(search::problem const& net, ashlar::topology const& t,
                    ashlar::machine const& m) {
  auto const lists = lists_of(net, t);
  std::vector<std::size_t> at(lists.size(), 0);
  double least = 1e300;
  do {
    least = std::min(least, overlapped_seconds(net, plan_of(net, t, m, lists, at), m));
  } while (next_digits(at, [&](std::size_t i) { return lists[i].size(); }));
  return least;
}

/// Returns a chain of a few layers without residuals.
search::problem small_net(random_cases& draw, int micro_batches) {
  search::problem net;
  shape const x{8, 6};
  net.add(linear_spec(x, 12));
  if (draw.below(2)) net.add(gelu_spec({8, 12}));
  net.add(linear_spec({8, 12}, 6));
  net.add(cross_entropy_spec(x));
  net.micro_batches = micro_batches;
  return net;
}

}  // namespace

TEST_CASE("the overlapped plan is near the fastest of all, and its bound below it") {
  random_cases draw(5);
  int exact = 0, cases = 0;
  for (int n = 0; n < 24; ++n) {
    auto net = small_net(draw, 1 + n % 4);
    net.interleaved = 1 + draw.below(net.micro_batches);
    ashlar::topology const t{{"gpu", 2 + draw.below(2)}};
    auto const m = draw.machine();
    double const least = least_of_all(net, t, m);
    auto asked = net;
    asked.overlap = true;
    auto const found = search::optimal(asked, t, m);
    INFO(n, " ", net.interleaved, " of ", net.micro_batches, " gap ", found.gap);
    CHECK(found.interleaved == net.interleaved);
    CHECK(found.seconds == relative(overlapped_seconds(net, found, m)));
    CHECK(found.seconds >= least * (1 - 1e-9));
    CHECK(found.seconds * (1 - found.gap) <= least * (1 + 1e-9));
    CHECK(found.seconds <= least * 1.1);
    exact += found.seconds <= least * (1 + 1e-9);
    ++cases;
  }
  CHECK(exact * 4 >= cases * 3);
}

TEST_CASE("no plan of a block is faster than the bound, on one and two axes") {
  random_cases draw(6);
  for (int n = 0; n < 10; ++n) {
    auto net = block_net(1, {8, 4}, 8);
    net.micro_batches = 2 + 2 * draw.below(2);
    net.interleaved = 2;
    ashlar::topology const t = n % 2 ? ashlar::topology{{"gpu", 4}}
                                     : ashlar::topology{{"node", 2, ashlar::link_tier::inter_node},
                                                        {"gpu", 2}};
    auto const m = draw.machine();
    auto asked = net;
    asked.overlap = true;
    auto const found = search::optimal(asked, t, m);
    double const bound = found.seconds * (1 - found.gap);
    CHECK(found.seconds <= overlapped_seconds(net, search::optimal(net, t, m), m) * (1 + 1e-12));
    auto const lists = lists_of(net, t);
    for (int k = 0; k < 60; ++k) {
      std::vector<std::size_t> at;
      for (auto const& list : lists)
        at.push_back(static_cast<std::size_t>(draw.below(static_cast<int>(list.size()))));
      CHECK(overlapped_seconds(net, plan_of(net, t, m, lists, at), m) >= bound * (1 - 1e-9));
    }
  }
}

TEST_CASE("the search chooses how many micro-batches take turns") {
  auto net = any_length(nn::describe(nn::chain(nn::embedding(40, 16), nn::gpt_block(16, 2),
                                               nn::layer_norm(16), nn::linear(16, 40)),
                                     nn::token_batch{8, 4, 4}));
  ashlar::topology const t{{"gpu", 2}};
  ashlar::machine m;
  m.intra = {0, 1e-9};
  m.flops = 1e9;
  net.overlap = true;
  double least = 1e300;
  for (int k = 1; k <= 4; ++k) {
    net.interleaved = k;
    least = std::min(least, search::optimal(net, t, m).seconds);
  }
  net.interleaved = 0;
  auto const chosen = search::optimal(net, t, m);
  CHECK(chosen.seconds <= least * (1 + 1e-12));
  CHECK(chosen.interleaved >= 1);
  CHECK(search::exact(net, t, m).plan.seconds == chosen.seconds);
  // With a memory limit below the memory of `chosen`, the search must find a plan whose program
  // fits.
  m.memory = chosen.memory - 1;
  auto const smaller = search::optimal(net, t, m);
  net.interleaved = smaller.interleaved;
  CHECK(high_water(search::detail::overlapped_program(net, smaller, m).made).peak <= m.memory);
}

TEST_CASE("searches that cannot minimize the overlapped time refuse it") {
  random_cases draw(1);
  auto net = small_net(draw, 2);
  ashlar::topology const t{{"gpu", 2}};
  net.overlap = true;
  CHECK_THROWS_WITH_AS(search::coordinate_descent(net, t, {}, {.evaluations = 10}),
                       doctest::Contains("Only search::optimal and search::exact minimize it"),
                       ashlar::error);
  CHECK_THROWS_WITH_AS(
      search::pipeline([&](int) { return net; }, t, ashlar::machine{}, {.micro_batches = {2}}),
      doctest::Contains("the times of pipelines count the overlap of their transfers already."),
      ashlar::error);
}

TEST_CASE("wrong numbers of turns are refused") {
  random_cases draw(1);
  auto net = small_net(draw, 9);
  net.overlap = true;
  auto const refused = [&](int turns, char const* text) {
    net.interleaved = turns;
    CHECK_THROWS_WITH_AS(search::optimal(net, {{"gpu", 2}}, {}), doctest::Contains(text),
                         ashlar::error);
  };
  refused(9, "9 micro-batches are too many for a search of the least overlapped time. Set "
             "interleaved to at most 8.");
  refused(-3, "-3 micro-batches cannot take turns in a step of 9.");
  net.layers[0].turns_together = 9;  // now 9 is the only possible number of turns
  refused(0, "9 micro-batches are too many for a search of the least overlapped time.");
  net.layers[0].turns_together = 1;
  net.micro_batches = 0;
  refused(0, "micro-batches");
  // If a layer couples rows, micro-batches cannot take turns.
  net.micro_batches = 2;
  net.interleaved = 0;
  net.layers[0].couples_rows = true;
  CHECK(search::optimal(net, {{"gpu", 2}}, {}).interleaved == 1);
}

}  // namespace ashlar_test
