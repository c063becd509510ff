// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "learning.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include <ashlar/search/baselines.hpp>

namespace ashlar_bench {

namespace sync = ashlar::sync;

namespace {

double uniform(std::mt19937_64& random) { return double(random() >> 11) * 0x1p-53; }

double log_uniform(std::mt19937_64& random, double spread) {
  return std::exp(std::log(spread) * (2 * uniform(random) - 1));
}

search::problem overlapped_model(std::string const& model, ashlar::topology const& t) {
  auto net = model_on(model, t.ranks());
  net.overlap = true;
  return net;
}

}  // namespace

hidden_factors hidden_factors::drawn(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  hidden_factors f;
  for (int k = 0; k < sync::influences_size; ++k) {
    bool const is_link = k <= static_cast<int>(sync::influence::inter_beta);
    f.figures[static_cast<std::size_t>(k)] = log_uniform(random, is_link ? 1.6 : 1.25);
  }
  f.work = log_uniform(random, 1.25);
  return f;
}

hidden_factors hidden_factors::varied(std::uint64_t seed, double spread) const {
  std::mt19937_64 random(seed);
  hidden_factors f = *this;
  for (auto& it : f.figures) it *= log_uniform(random, spread);
  f.work *= log_uniform(random, spread);
  return f;
}

hidden_cluster::hidden_cluster(std::string const& model, std::string const& name,
                               hidden_factors const& f)
    : at_(cluster_named(name)), net_(overlapped_model(model, at_.mesh)),
      plain_(search::data_parallel(net_, at_.mesh, at_.machine)), assumed_(at_.machine),
      true_(at_.machine), work_(f.work), space_(net_, plain_, at_.machine) {
  for (int k = 0; k < sync::influences_size; ++k)
    true_ = scaled(true_, static_cast<sync::influence>(k), f.figures[static_cast<std::size_t>(k)]);
  // A timeline has the seconds of computations of its program. So all others are divided by the
  // factor of computations, and the result is multiplied by it.
  for (auto const what :
       {sync::influence::intra_alpha, sync::influence::intra_beta, sync::influence::inter_alpha,
        sync::influence::inter_beta, sync::influence::coding})
    true_ = scaled(true_, what, 1 / work_);
}

double hidden_cluster::seconds(search::plan const& plan,
                               search::bucket_rule const& division) const {
  return work_ * search::timeline_of(program_of(space_, plan, division), true_).seconds;
}

double hidden_cluster::measured(search::plan const& plan,
                                search::bucket_rule const& division) const {
  std::mt19937_64 random(search::fingerprint(plan) ^ static_cast<std::uint64_t>(division.size));
  random.discard(10);
  double const u = uniform(random), v = uniform(random);
  double const normal = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::acos(-1.0) * v);
  return seconds(plan, division) * std::exp(0.01 * normal);
}

sync::tuned hidden_cluster::tune(sync::tuning_options const& o) const {
  return sync::tune(net_, plain_, assumed_, o,
                    [&](search::plan const& p, search::bucket_rule const& division) {
                      return measured(p, division);
                    });
}

held_out held_out::drawn(hidden_cluster const& on, sync::trial_log const& log, std::uint64_t seed,
                         int count) {
  auto const& space = on.space();
  auto const own = trials_of(log, space.hash());
  auto const fastest = std::min_element(
      own.begin(), own.end(), [](auto const& a, auto const& b) { return a.seconds < b.seconds; });
  auto const optimum = space.candidate_of(sync::optimal(on.net(), on.plain(), on.assumed()).chosen);
  sync::guided_sampler random(space, seed);
  std::vector<sync::candidate> list;
  held_out all;
  while (static_cast<int>(list.size()) < count) {
    auto c = random.mutated(list.size() % 2 == 0 ? optimum : fastest->strategy);
    bool is_new = std::none_of(own.begin(), own.end(),
                               [&](auto const& t) { return t.strategy == c; });
    for (auto const& it : list) is_new = is_new && !(it == c);
    if (!is_new) continue;
    auto const plan = space.plan_of(c);
    all.predicted.push_back(price_of(space, plan, c.division, true));
    all.seconds.push_back(on.seconds(plan, c.division));
    list.push_back(std::move(c));
  }
  held_out near;
  double const least = *std::min_element(all.seconds.begin(), all.seconds.end());
  for (std::size_t k = 0; k < all.seconds.size(); ++k)
    if (all.seconds[k] <= 1.1 * least) {
      near.predicted.push_back(all.predicted[k]);
      near.seconds.push_back(all.seconds[k]);
    }
  return near;
}

namespace {

/// Calls f(fast, slow) for each pair that differs by 0.5 % or more.
template <class F>
void for_each_pair_of(std::vector<double> const& seconds, F f) {
  for (std::size_t i = 0; i < seconds.size(); ++i)
    for (std::size_t k = 0; k < seconds.size(); ++k)
      if (seconds[k] >= 1.005 * seconds[i]) f(i, k);
}

template <class Score>
double accuracy_by(held_out const& on, Score score) {
  double right = 0, pairs = 0;
  for_each_pair_of(on.seconds, [&](std::size_t fast, std::size_t slow) {
    double const a = score(on.predicted[fast]), b = score(on.predicted[slow]);
    right += a > b ? 1 : a == b ? 0.5 : 0;
    ++pairs;
  });
  return pairs == 0 ? 1 : right / pairs;
}

}  // namespace

int held_out::pairs() const {
  int n = 0;
  for_each_pair_of(seconds, [&](std::size_t, std::size_t) { ++n; });
  return n;
}

double held_out::accuracy_of_prediction() const {
  return accuracy_by(*this, [](sync::price const& p) { return -p.seconds; });
}

double held_out::accuracy_of(sync::corrected_ranker const& r) const {
  return accuracy_by(*this, [&](sync::price const& p) { return r.score(p.seconds, p.slopes); });
}

sync::corrected_ranker learned(hidden_cluster const& on, sync::trial_log const& log) {
  sync::corrected_ranker r;
  auto const space = on.space().hash();
  r.fit(trials_of(log, space), trials_of(log, space, false));
  return r;
}

}  // namespace ashlar_bench
