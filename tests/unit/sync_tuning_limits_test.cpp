// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search for strategies by trials at its limits: little memory, a space that is
// exhausted, owners on long axes and beside tensor parallelism, logs of searches with other
// options, an interrupted search, and links that take no time.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/tuning/tune.hpp>

#include "sync_tuned_net.hpp"

namespace ashlar_test {
namespace {

namespace search = ashlar::search;
namespace sync = ashlar::sync;

TEST_CASE("under a memory limit only strategies that fit are tried, as many as were asked for") {
  tuned_net it;
  auto const peak_of = [&](sync::strategy_space const& space, sync::candidate const& c) {
    return search::high_water(program_of(space, space.plan_of(c), c.division)).peak;
  };
  std::vector<double> peaks;
  {
    auto const space = it.space();
    sync::guided_sampler sampler(space, 7);
    for (int k = 0; k < 20; ++k) peaks.push_back(double(peak_of(space, sampler.draw())));
  }
  // With overlap, the library makes the program of each strategy fit in the limit if it can. So the
  // test needs a limit below the peaks of all programs that are made without a limit. Then some
  // strategies exceed it.
  it.machine.memory = static_cast<decltype(it.machine.memory)>(
      0.9 * *std::min_element(peaks.begin(), peaks.end()));
  auto const space = it.space();
  auto const clock = it.clock();
  sync::guided_sampler sampler(space, 7);
  int unfit = 0;
  for (int k = 0; k < 20; ++k)
    unfit += double(peak_of(space, sampler.draw())) > double(it.machine.memory) ? 1 : 0;
  CHECK(unfit >= 5);
  CHECK(unfit < 20);
  auto few = sync::published(8, 1, sync::ranker_kind::linear);
  few.proposals = 20;
  few.each_round = 4;
  few.epochs = 3;
  for (auto const& o : {sync::tuning_options{.trials = 8, .seed = 1, .proposals = 8}, few}) {
    auto const found = sync::tune(it.net, it.plain, it.machine, o, clock);
    CHECK(found.trials == 8);
    REQUIRE(found.log.trials.size() == 8);
    for (auto const& t : found.log.trials)
      CHECK(double(peak_of(space, t.strategy)) <= double(it.machine.memory));
  }
}

TEST_CASE("plain steps fit in memory too, or a strategy is not tried") {
  auto const net = search::any_length(ashlar::nn::describe<float>(
      ashlar::nn::chain(ashlar::nn::linear(64, 256), ashlar::nn::linear(256, 64)),
      ashlar::nn::feature_batch{4, 64}));
  auto m = ashlar::machines::gigabit_cluster;
  auto const start = search::data_parallel(net, tuned_net::two_nodes(), m);
  sync::encoded const by{.wire = ashlar::wires::power_sgd(4), .plain_steps = 3};
  auto const plan = by(net, start, m);
  for (int const missing : {0, 1}) {
    m.memory = plan.memory - missing;
    sync::strategy_space const space(net, start, m, {by.wire});
    CHECK(sync::price_of(program_of(space, plan, {}), m, false).fits);
    CHECK(sync::plain_steps_fit(space, plan, {}) == (missing == 0));
  }
}

TEST_CASE("a search tries a strategy only if its plain steps fit in memory too") {
  auto const net = search::any_length(ashlar::nn::describe<float>(
      ashlar::nn::chain(ashlar::nn::linear(64, 256, false)), ashlar::nn::feature_batch{4, 64}));
  auto m = ashlar::machines::gigabit_cluster;
  auto start = search::data_parallel(net, {{"gpu", 2}}, m);
  start.plain_steps = 3;
  sync::encoded const by{.wire = ashlar::wires::power_sgd(4), .plain_steps = 3};
  auto const plan = by(net, start, m);
  for (int const missing : {0, 1}) {
    m.memory = plan.memory - missing;
    sync::tuning_options const o{.trials = 1000, .wires = {by.wire}};
    sync::strategy_space const space(net, start, m, o.wires);
    // The steps with the wire always fit.
    REQUIRE(sync::price_of(program_of(space, plan, {}), m, false).fits);
    bool is_tried = false;
    auto const found = sync::tune(net, start, m, o, [&](search::plan const& p) {
      CHECK(sync::plain_steps_fit(space, p, {}));
      is_tried = is_tried || p.choices == plan.choices;
      return p.seconds;
    });
    CHECK(found.trials < 1000);  // there are no other strategies
    CHECK(is_tried == (missing == 0));
  }
}

TEST_CASE("a search that has tried everything says how many trials it made") {
  auto const net = search::any_length(ashlar::nn::describe<float>(
      ashlar::nn::chain(ashlar::nn::linear(8, 8)), ashlar::nn::feature_batch{4, 8}));
  ashlar::topology const mesh{{"gpu", 2}};
  auto const m = ashlar::machines::gigabit_cluster;
  auto const plain = search::data_parallel(net, mesh, m);
  int measured = 0;
  auto const found = sync::tune(net, plain, m, {.trials = 1000}, [&](search::plan const& p) {
    ++measured;
    return p.seconds;
  });
  CHECK(found.trials == measured);
  CHECK(found.trials < 1000);
  CHECK(found.trials > 5);
}

TEST_CASE("an owner is named once, also on long axes and beside tensor parallelism") {
  // Only the first 512 ranks of an axis can be owners.
  tuned_net const wide(1200, {{"rank", 600}});
  auto const space = wide.space();
  sync::guided_sampler sampler(space, 1);
  int owned = 0;
  for (int n = 0; n < 20; ++n) {
    auto const c = sampler.draw();
    REQUIRE(space.fault(c) == nullptr);
    for (std::size_t k = 0; k < space.size(); ++k) {
      owned += c.owners[k] >= 0 ? 1 : 0;
      CHECK(c.owners[k] < 512);
      CHECK_NOTHROW(space.choice(c, k));
    }
  }
  CHECK(owned > 0);
  // If a parameter has two owners to choose from, its owner is a whole node. The rank that
  // `owners` names is the first rank of this node.
  tuned_net tensor;
  tensor.plain = search::tensor_parallel(tensor.net, tensor.mesh, tensor.machine);
  auto const rows = tensor.space();
  sync::guided_sampler draws(rows, 1);
  int along_one = 0;
  for (int n = 0; n < 10; ++n) {
    auto const c = n % 2 == 0 ? draws.draw() : draws.mutated(draws.draw());
    REQUIRE(rows.fault(c) == nullptr);
    CHECK(rows.candidate_of(rows.plan_of(c), c.division) == c);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (c.owners[k] < 0 || rows.owners(rows.choice(c, k)).size() != 2) continue;
      ++along_one;
      CHECK(c.owners[k] % 2 == 0);
    }
  }
  CHECK(along_one > 0);
}

TEST_CASE("a seed gives the same candidate everywhere") {
  tuned_net const it;
  auto const space = it.space();
  auto const c = sync::guided_sampler(space, 1, {.low = 1024, .high = 16384}).draw();
  CHECK(c.picks == std::vector<int>{4, 10, 9, 0,  0, 0, 0, 9,  10, 9, 4, 9,  1,  0,
                                    0, 0,  4, 10, 0, 9, 0, 10, 8,  0, 0, 10, 10, 9});
  CHECK(c.owners == std::vector<int>{-1, 1,  0,  -1, -1, -1, -1, 1, 2,  3,  -1, 1, -1, -1,
                                     -1, -1, -1, 0,  -1, 2,  -1, 3, -1, -1, -1, 0, 0,  1});
  CHECK(c.division.size == 2401);
}

TEST_CASE("spaces with other memory or without overlap are other spaces") {
  tuned_net it;
  auto const first = it.space().hash();
  it.machine.memory = 1 << 30;
  auto const limited = it.space().hash();
  CHECK(limited != first);
  it.net.overlap = false;
  CHECK(it.space().hash() != limited);
}

TEST_CASE("trials that had divisions are not repeated by a call without them") {
  tuned_net const it;
  auto const clock = it.clock();
  auto o = sync::published(6, 1, sync::ranker_kind::linear);
  o.proposals = 10;
  o.epochs = 1;
  auto const divided = sync::tune(it.net, it.plain, it.machine, o, clock).log;
  for (auto const& t : divided.trials) REQUIRE_FALSE(t.strategy.division == search::bucket_rule{});
  auto start = divided;
  for (auto& t : start.trials) t.seconds /= 1000;  // each would be the fastest
  auto const found = sync::tune(it.net, it.plain, it.machine,
                                {.trials = 3, .proposals = 6, .start = start},
                                [&](search::plan const& p) { return clock(p, {}); });
  CHECK(found.division == search::bucket_rule{});
  CHECK(found.seconds == clock(found.chosen, {}));
  for (std::size_t k = 6; k < found.log.trials.size(); ++k)
    CHECK(found.log.trials[k].strategy.division == search::bucket_rule{});
  auto const space = it.space();
  sync::guided_sampler plain(space, 1, {.divides = false});
  CHECK(plain.mutated(divided.trials[0].strategy).division == search::bucket_rule{});
}

TEST_CASE("trials have the library's division if the options say so") {
  tuned_net const it;
  auto o = sync::published(4, 1, sync::ranker_kind::linear);
  o.proposals = 6;
  o.epochs = 1;
  o.sampling.divides = false;
  auto const found = sync::tune(it.net, it.plain, it.machine, o, it.clock());
  CHECK(found.trials == 4);
  for (auto const& t : found.log.trials) CHECK(t.strategy.division == search::bucket_rule{});
}

TEST_CASE("a search that was interrupted goes on from the log of its last trial") {
  tuned_net const it;
  auto const clock = it.clock();
  sync::trial_log saved;
  sync::tuning_options o{.trials = 6, .proposals = 6, .each_round = 2};
  o.on_trial = [&](sync::trial_log const& log) { saved = log; };
  int measured = 0;
  auto const fails = [&](search::plan const& p, search::bucket_rule const& division) {
    if (++measured == 4) throw std::runtime_error("the cluster is gone");
    return clock(p, division);
  };
  CHECK_THROWS_AS(sync::tune(it.net, it.plain, it.machine, o, fails), std::runtime_error);
  REQUIRE(saved.trials.size() == 3);
  o.start = saved;
  o.trials = 3;
  auto const found = sync::tune(it.net, it.plain, it.machine, o, clock);
  CHECK(found.trials == 3);
  CHECK(saved.trials.size() == 6);
  for (std::size_t k = 3; k < 6; ++k)
    for (std::size_t i = 0; i < k; ++i)
      CHECK_FALSE(saved.trials[k].strategy == saved.trials[i].strategy);
}

TEST_CASE("numbers of nothing and plans with wires are refused") {
  tuned_net it;
  auto const clock = it.clock();
  sync::tuning_options o{.trials = 1, .proposals = 0};
  auto const tuned = [&] {
    return message_of([&] { sync::tune(it.net, it.plain, it.machine, o, clock); });
  };
  CHECK(has(tuned(), "a round has no proposals or no trials"));
  o = {.trials = 1, .each_round = 0};
  CHECK(has(tuned(), "a round has no proposals or no trials"));
  CHECK(has(message_of([] { sync::lstm_ranker(1, {.layers = 0}); }), "a size is 0"));
  sync::linear_ranker linear;
  std::vector<sync::strategy_totals> const none;
  CHECK(has(message_of([&] { sync::fit_ranker(linear, none, {}, {.batch = 0}); }),
            "a batch has no candidates"));
  for (bool const starts : {true, false}) {
    o = {.trials = 1, .starts_optimal = starts};
    it.plain = search::data_parallel(it.net, it.mesh, it.machine);
    it.plain = sync::encoded{ashlar::wires::bf16}(it.net, it.plain, it.machine);
    REQUIRE(search::has_wires(it.plain));
    CHECK(has(tuned(), "sync::tune: chooses the wires of gradients itself"));
  }
}

TEST_CASE("links that take no time give features and scores that are numbers") {
  tuned_net it;
  it.machine.intra.beta = it.machine.inter.beta = it.machine.flow = 0;
  auto const space = it.space();
  auto const c = sync::guided_sampler(space, 1).draw();
  auto const f = features_of(space, c);
  for (double const total : f.totals) CHECK(std::isfinite(total));
  for (auto const& variable : f.variables)
    for (auto const& [place, value] : variable) CHECK(std::isfinite(value));
  sync::candidate_ranker ranker(space, sync::ranker_kind::linear, 1);
  CHECK(std::isfinite(ranker.score(ranker.described(c))));
  // A regression on trials whose predicted seconds are 0 keeps the weights that it began with.
  std::vector<sync::trial> bad(5);
  for (auto& t : bad) t.seconds = 1;  // the predicted seconds stay 0
  sync::influences around{};
  around[2] = 0.5;
  CHECK(sync::ridge(bad).weights(around, 0.0025) == around);
}

}  // namespace
}  // namespace ashlar_test
