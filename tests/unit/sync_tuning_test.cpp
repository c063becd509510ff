// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search for strategies by trials: the space and the sampler, the rankers and their
// gradients, the fidelity level, and the loop of trials. No step is run: a trial gets the seconds
// of the step's timeline on a machine that differs from the one that the search assumes.
// bench/synchronize shows what is learned on large nets.

#include <cmath>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>
#include <support/worse_gap.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/sync/tuning/tune.hpp>

#include "sync_tuned_net.hpp"

namespace ashlar_test {
namespace {

namespace search = ashlar::search;
namespace sync = ashlar::sync;

TEST_CASE("a candidate of a strategy space and its plan determine each other") {
  tuned_net const it;
  auto const space = it.space();
  CHECK(space.groups().size() < space.size());  // the blocks have equal parameters
  sync::guided_sampler sampler(space, 3);
  for (int k = 0; k < 10; ++k) {
    auto c = sampler.draw();
    if (k % 2 == 1) c = sampler.mutated(c);
    REQUIRE(space.fault(c) == nullptr);
    auto const plan = space.plan_of(c);
    CHECK(space.plan_of(space.candidate_of(plan)).choices == plan.choices);
  }
  auto const best = sync::optimal(it.net, it.plain, it.machine).chosen;
  CHECK(space.plan_of(space.candidate_of(best)).choices == best.choices);
  CHECK(space.hash() == it.space().hash());
  CHECK(sync::strategy_space(it.net, it.plain, ashlar::machines::workstation).hash() !=
        space.hash());
  auto bad = sampler.draw();
  bad.picks[0] = 1000;
  CHECK(space.fault(bad) != nullptr);
}

TEST_CASE("the guided sampler keeps small variables whole and divides large ones") {
  tuned_net const it;
  auto const space = it.space();
  sync::guided_sampler sampler(space, 1, {.low = 4096, .high = 8192});
  int parts = 0, whole = 0;
  for (int n = 0; n < 40; ++n) {
    auto const c = sampler.draw();
    CHECK(c.division.kind == search::bucketing::by_bytes);
    for (std::size_t k = 0; k < space.size(); ++k) {
      auto const& p = space.parameters()[k];
      auto const at = space.choice(c, k).updated_at();
      bool const all_reduced = c.picks[k] == 0;
      bool const is_owned = at.has_owned();
      CHECK(is_owned == (c.owners[k] >= 0));
      if (p.bytes <= 4096) CHECK((all_reduced || is_owned));
      if (p.bytes >= 8192) CHECK(!is_owned);
      (is_owned ? whole : parts) += all_reduced ? 0 : 1;
    }
  }
  CHECK(parts > 0);
  CHECK(whole > 0);
  sync::guided_sampler again(space, 1, {.low = 4096, .high = 8192});
  sync::guided_sampler other(space, 2, {.low = 4096, .high = 8192});
  auto const first = again.draw();
  CHECK(first == sync::guided_sampler(space, 1, {.low = 4096, .high = 8192}).draw());
  CHECK_FALSE(first == other.draw());
}

TEST_CASE("features of a candidate are the transmissions of its servers and groups") {
  tuned_net const it;
  auto const space = it.space();
  double total = 0;
  for (auto const& p : space.parameters()) total += p.bytes;
  double const beta = it.machine.inter.beta;
  // Everything is all-reduced in one bucket. strategy_features.hpp says what each total is.
  sync::candidate c{std::vector<int>(space.size(), 0),
                    std::vector<int>(space.size(), -1),
                    {search::bucketing::by_bytes, std::int64_t{1} << 40}};
  auto const one = features_of(space, c);
  CHECK(one.totals[3] == 0);
  CHECK(one.totals[9] == relative(total * beta));
  CHECK(one.totals[6] == relative(one.totals[9]));
  CHECK(one.totals[10] == 1);  // one group
  c.division = {search::bucketing::by_number, 1};
  CHECK(features_of(space, c).totals[10] == double(space.size()));
  // One server owns everything, and the other node has local copies. So the link between them
  // carries all gradients once and all values once.
  for (auto const& p : space.parameters()) REQUIRE(p.strategies.back().updated_at().has_owned());
  for (std::size_t k = 0; k < space.size(); ++k) {
    auto const& all = space.parameters()[k].strategies;
    c.picks[k] = static_cast<int>(all.size()) - 2;
    c.owners[k] = 3;
  }
  auto const owned = features_of(space, c);
  CHECK(owned.totals[0] == relative(2 * total * beta));
  CHECK(owned.totals[3] == relative(owned.totals[0]));
  CHECK(owned.totals[9] == 0);
  // If the other node has no copies and reads the values at use, both of its ranks receive them.
  for (auto& pick : c.picks) ++pick;
  CHECK(features_of(space, c).totals[3] == relative(3 * total * beta));
  for (auto const& f : owned.variables)
    for (auto const& [place, value] : f) {
      CHECK(place < sync::variable_layout::size);
      CHECK(std::isfinite(value));
    }
}

TEST_CASE("the pairwise logistic loss has its gradient, and ranks only pairs that differ") {
  std::vector<double> const seconds{1, 2, 4, 2.001};
  std::vector<double> scores{0.3, 0.1, 0.7, -0.4};
  auto const loss = sync::pairwise_loss(scores, seconds);
  for (std::size_t k = 0; k < scores.size(); ++k) {
    auto more = scores, less = scores;
    more[k] += 1e-6;
    less[k] -= 1e-6;
    double const slope = (sync::pairwise_loss(more, seconds).loss -
                          sync::pairwise_loss(less, seconds).loss) /
                         2e-6;
    CHECK(loss.gradient[k] == doctest::Approx(slope).epsilon(1e-6));
  }
  // Of the 6 pairs of steps, the pair of 2 and 2.001 seconds is too close to count. The scores put
  // 2 of the other 5 pairs in the right order.
  CHECK(sync::ranking_accuracy(scores, seconds) == doctest::Approx(2.0 / 5));
  CHECK(sync::ranking_accuracy({0, 0}, {1, 2}) == 0.5);
  CHECK(sync::pairwise_loss({1, 2}, {3, 3}).loss == 0);
}

/// Returns the largest difference between a derivative of a ranker's score and its finite
/// difference.
template <class Ranker, class Features>
double worst_gradient(Ranker& ranker, Features const& x) {
  std::vector<double> gradient(ranker.weights().size(), 0);
  ranker.add_gradient(x, 1.7, gradient);
  double worst = 0;
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    double const w = ranker.weights()[k];
    ranker.weights()[k] = w + 1e-5;
    double const more = ranker.score(x);
    ranker.weights()[k] = w - 1e-5;
    double const less = ranker.score(x);
    ranker.weights()[k] = w;
    worst = worse_gap(worst, std::abs(gradient[k] - 1.7 * (more - less) / 2e-5));
  }
  return worst;
}

TEST_CASE("the gradients of the rankers are those of finite differences") {
  sync::strategy_totals const z{0.5, -1, 2, 0, 0.25, -0.75, 1.5, 1, -2, 0.1, -0.3, 0.9};
  sync::linear_ranker linear;
  CHECK(worst_gradient(linear, z) < 1e-8);
  sync::mlp_ranker perceptron(1, 5);
  CHECK(worst_gradient(perceptron, z) < 1e-8);
  std::vector<sync::sparse_features> const variables{
      {{0, 1.0}, {619, 1.0}, {624, 0.5}, {627, -0.8}},
      {{17, 1.0}, {623, 1.0}, {624, 0.3}, {629, 4.0}},
      {{3, 0.5}, {4, 0.5}, {621, 1.0}, {624, 0.2}, {630, 1.0}}};
  sync::lstm_ranker recurrent(1, {.wide = 3, .narrow = 2, .hidden = 2, .layers = 3});
  CHECK(worst_gradient(recurrent, variables) < 1e-8);
  auto reversed = variables;
  std::reverse(reversed.begin(), reversed.end());
  CHECK(recurrent.score(variables) != recurrent.score(reversed));
}

TEST_CASE("trained rankers order what they have seen") {
  std::vector<sync::strategy_totals> x;
  std::vector<std::vector<sync::sparse_features>> variables;
  std::vector<double> seconds;
  for (int k = 0; k < 12; ++k) {
    double const a = 0.1 * (k * 5 % 12), b = 0.1 * (k * 7 % 12);
    sync::strategy_totals z{};
    z[3] = a;
    z[9] = b;
    x.push_back(z);
    variables.push_back({{{627, a}, {630, 1.0}}, {{627, b}}});
    seconds.push_back(1 + a + 2 * b);
  }
  auto const accuracy = [&](auto& ranker, auto const& features) {
    std::vector<double> scores;
    for (auto const& it : features) scores.push_back(ranker.score(it));
    return sync::ranking_accuracy(scores, seconds);
  };
  sync::linear_ranker linear;
  sync::fit_ranker(linear, x, seconds, {.epochs = 100, .rate = 0.1});
  CHECK(accuracy(linear, x) > 0.95);
  sync::mlp_ranker perceptron(1);
  sync::fit_ranker(perceptron, x, seconds, {.epochs = 100, .rate = 0.05});
  CHECK(accuracy(perceptron, x) > 0.95);
  sync::lstm_ranker recurrent(1, {.wide = 6, .narrow = 4, .hidden = 4});
  sync::fit_ranker(recurrent, variables, seconds, {.epochs = 60, .rate = 0.02});
  CHECK(accuracy(recurrent, variables) > 0.95);
  sync::mlp_ranker same(1);
  sync::fit_ranker(same, x, seconds, {.epochs = 100, .rate = 0.05});
  CHECK(same.weights() == perceptron.weights());
}

TEST_CASE("the fidelity level is the highest score below which trials are ranked right") {
  // A higher score must mean a faster step. The three trials with the lowest scores are ranked
  // right, the other two are not.
  std::vector<double> const scores{1, 2, 3, 4, 5}, seconds{9, 8, 7, 7.5, 8.5};
  CHECK(*sync::fidelity_trial(scores, seconds, 1) == 2);
  CHECK(*sync::fidelity_trial(scores, seconds, 0.8) == 3);
  CHECK_FALSE(sync::fidelity_trial({1, 2}, {1, 2}, 0.8).has_value());
  CHECK_FALSE(sync::fidelity_trial({1}, {1}, 0.8).has_value());
  CHECK_FALSE(sync::fidelity_trial({1, 2}, {3, 3}, 0.8).has_value());  // no pair differs
  // Seven earlier trials come before those of the round.
  CHECK(*sync::fidelity_trial_of_round(7, scores, seconds, 1) == 9);
  CHECK(*sync::fidelity_trial_of_round(0, scores, seconds, 0.8) == 3);
  CHECK_FALSE(sync::fidelity_trial_of_round(7, {1, 2}, {1, 2}, 0.8).has_value());
}

TEST_CASE("the limit of flows is scaled with the bandwidth between nodes, and with nothing else") {
  auto m = ashlar::machines::gigabit_cluster;
  m.flow = 3;
  auto const slower = scaled(m, sync::influence::inter_beta, 2);
  CHECK(slower.flow == 6);
  CHECK(slower.inter == ashlar::link{m.inter.alpha, 2 * m.inter.beta});
  CHECK(slower.intra == m.intra);
  for (int k = 0; k < sync::influences_size; ++k) {
    auto const what = static_cast<sync::influence>(k);
    CHECK((scaled(m, what, 2).flow == 3) == (what != sync::influence::inter_beta));
  }
}

TEST_CASE(
    "the correction goes towards the factors of a machine, and stays where nothing is wrong") {
  tuned_net const it;
  auto const space = it.space();
  sync::guided_sampler sampler(space, 5);
  auto const clock = it.clock();
  std::vector<sync::trial> wrong, right;
  for (int k = 0; k < 30; ++k) {
    sync::trial t;
    t.space = space.hash();
    t.strategy = sampler.draw();
    auto const plan = space.plan_of(t.strategy);
    auto const p = sync::price_of(program_of(space, plan, t.strategy.division), space.machine(),
                                  true);
    t.predicted = t.seconds = p.seconds;
    t.slopes = p.slopes;
    right.push_back(t);
    t.seconds = clock(plan, t.strategy.division);
    wrong.push_back(t);
  }
  sync::corrected_ranker none(space), found(space), started(space);
  none.fit(right, {});
  for (double const w : none.weights()) CHECK(std::abs(w) < 1e-12);
  found.fit({wrong.begin(), wrong.begin() + 20}, {});
  auto const accuracy = [&](sync::corrected_ranker const& r) {
    std::vector<double> scores, seconds;
    for (std::size_t k = 20; k < wrong.size(); ++k) {
      scores.push_back(r.score(r.price_of(wrong[k].strategy)));
      seconds.push_back(wrong[k].seconds);
    }
    return sync::ranking_accuracy(scores, seconds);
  };
  CHECK(accuracy(found) > accuracy(none));
  CHECK(accuracy(found) > 0.95);
  // On the clock's machine, the figures of all-reduces are multiplied by 2 and the latency between
  // nodes by 1/2 (sync_tuned_net.hpp). The learned weights must come at least a third of the way to
  // the logarithms of these factors. The penalty of the regression keeps them from going all the
  // way.
  double const doubled = found.weights()[static_cast<std::size_t>(sync::influence::all_reduce)];
  double const halved = found.weights()[static_cast<std::size_t>(sync::influence::inter_alpha)];
  CHECK(doubled > std::log(2.0) / 3);
  CHECK(doubled < std::log(2.0) * 1.1);
  CHECK(halved < -std::log(2.0) / 3);
  CHECK(halved > -std::log(2.0) * 1.1);
  // Before its first trial in this space, a ranker can learn from trials in another space. The ten
  // trials on which its accuracy is measured are not among them.
  std::vector<sync::trial> others(wrong.begin(), wrong.begin() + 20);
  for (auto& t : others) t.space = 1;
  started.fit({}, others);
  CHECK(accuracy(started) > accuracy(none));
}

TEST_CASE("trials begin with the optimum and find faster steps on another machine") {
  tuned_net const it;
  auto const clock = it.clock();
  int measured = 0;
  auto const count = [&](search::plan const& p, search::bucket_rule const& division) {
    ++measured;
    return clock(p, division);
  };
  sync::tuning_options const options{.trials = 12, .seed = 1, .proposals = 12};
  auto const found = sync::tune(it.net, it.plain, it.machine, options, count);
  CHECK(measured == 12);
  REQUIRE(found.log.trials.size() == 12);
  auto const optimum = sync::optimal(it.net, it.plain, it.machine).chosen;
  CHECK(it.space().plan_of(found.log.trials[0].strategy).choices == optimum.choices);
  CHECK(found.log.trials[0].seconds == clock(optimum, {}));
  CHECK(found.seconds < found.log.trials[0].seconds);
  CHECK(clock(found.chosen, found.division) == found.seconds);
  for (auto const& t : found.log.trials) CHECK(found.seconds <= t.seconds);
  auto const again = sync::tune(it.net, it.plain, it.machine, options, clock);
  CHECK(again.chosen.choices == found.chosen.choices);

  // An interrupted search goes on from its log, and repeats no trial.
  auto more = options;
  more.trials = 2;
  more.start = found.log;
  auto const resumed = sync::tune(it.net, it.plain, it.machine, more, clock);
  CHECK(resumed.log.trials.size() == 14);
  CHECK(resumed.seconds <= found.seconds);
  for (std::size_t k = 12; k < 14; ++k)
    for (std::size_t i = 0; i < k; ++i)
      CHECK_FALSE(resumed.log.trials[k].strategy == resumed.log.trials[i].strategy);

  // A callback that takes only a plan measures the library's own division into buckets.
  more.start = {};
  auto const plain = sync::tune(it.net, it.plain, it.machine, more,
                                [&](search::plan const& p) { return clock(p, {}); });
  for (auto const& t : plain.log.trials) CHECK(t.strategy.division == search::bucket_rule{});
}

TEST_CASE("Algorithm 1 as published runs with each of its rankers") {
  tuned_net const it;
  auto const clock = it.clock();
  for (auto const kind :
       {sync::ranker_kind::linear, sync::ranker_kind::perceptron, sync::ranker_kind::recurrent}) {
    auto o = sync::published(6, 1, kind);
    o.proposals = 20;
    o.each_round = 3;
    o.epochs = 3;
    auto const found = sync::tune(it.net, it.plain, it.machine, o, clock);
    CHECK(found.log.trials.size() == 6);
    CHECK(clock(found.chosen, found.division) == found.seconds);
  }
}

TEST_CASE("tuning refuses what it cannot use") {
  tuned_net const it;
  auto const clock = it.clock();
  sync::tuning_options o{.trials = 1};
  auto const tuned = [&](auto measure) {
    return message_of([&] { sync::tune(it.net, it.plain, it.machine, o, measure); });
  };
  CHECK(has(tuned([](search::plan const&) { return -1.0; }),
            "Return the positive seconds of a step"));
  auto const log = sync::tune(it.net, it.plain, it.machine, o, clock).log;
  o.start = log;
  o.start.parameters ^= 1;
  CHECK(has(tuned(clock), "the earlier trials are of another net"));
  o.start = log;
  o.start.trials[0].strategy.picks.pop_back();
  CHECK(has(tuned(clock), "an earlier trial is damaged"));
  o = {.trials = 0, .starts_optimal = false};
  CHECK(has(tuned(clock), "no trial was made"));
  CHECK(sync::parameters_hash(tuned_net(4).net) == sync::parameters_hash(it.net));
}

}  // namespace
}  // namespace ashlar_test
