// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "learning.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>

#include <ashlar/search/baselines.hpp>

#include "../support/csv.hpp"

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
    f.figures[static_cast<std::size_t>(k)] = log_uniform(random, is_link ? 2.0 : 1.5);
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
                               hidden_factors const& f, sync::wire_list const& wires)
    : at_(cluster_named(name)), net_(overlapped_model(model, at_.mesh)),
      plain_(search::data_parallel(net_, at_.mesh, at_.machine)), true_(at_.machine), work_(f.work),
      wires_(wires), space_(net_, plain_, at_.machine, wires) {
  for (int k = 0; k < sync::influences_size; ++k)
    true_ = scaled(true_, static_cast<sync::influence>(k), f.figures[static_cast<std::size_t>(k)]);
  // A timeline takes the seconds of computations from its program and does not scale them. So all
  // other figures are divided here by work_, and seconds() multiplies its result by work_.
  for (auto const what :
       {sync::influence::intra_alpha, sync::influence::intra_beta, sync::influence::inter_alpha,
        sync::influence::inter_beta, sync::influence::coding})
    true_ = scaled(true_, what, 1 / work_);
}

double hidden_cluster::seconds(search::program const& made) const {
  return work_ * search::timeline_of(made, true_).seconds;
}

double hidden_cluster::seconds(search::plan const& plan,
                               search::bucket_rule const& division) const {
  return seconds(program_of(space_, plan, division));
}

double hidden_cluster::measured(search::plan const& plan,
                                search::bucket_rule const& division) const {
  std::mt19937_64 random(search::fingerprint(plan) ^ static_cast<std::uint64_t>(division.size));
  random.discard(10);
  double const u = uniform(random), v = uniform(random);
  double const normal = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::acos(-1.0) * v);
  return seconds(plan, division) * std::exp(0.01 * normal);
}

search::plan hidden_cluster::optimum() const {
  return sync::optimal(net_, plain_, at_.machine, {.wires = wires_}).chosen;
}

sync::tuned hidden_cluster::tune(sync::tuning_options o) const {
  o.wires = wires_;
  return sync::tune(net_, plain_, at_.machine, o,
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
  auto const optimum = space.candidate_of(on.optimum());
  sync::guided_sampler random(space, seed);
  std::vector<sync::candidate> list;
  held_out all;
  while (static_cast<int>(list.size()) < count) {
    auto c = random.mutated(list.size() % 2 == 0 ? optimum : fastest->strategy);
    bool is_new = std::none_of(own.begin(), own.end(),
                               [&](auto const& t) { return t.strategy == c; });
    for (auto const& it : list) is_new = is_new && !(it == c);
    if (!is_new) continue;
    all.programs.push_back(program_of(space, space.plan_of(c), c.division));
    all.seconds.push_back(on.seconds(all.programs.back()));
    list.push_back(std::move(c));
  }
  held_out near;
  double const least = *std::min_element(all.seconds.begin(), all.seconds.end());
  for (std::size_t k = 0; k < all.seconds.size(); ++k)
    if (all.seconds[k] <= 1.1 * least) {
      near.programs.push_back(all.programs[k]);
      near.seconds.push_back(all.seconds[k]);
    }
  return near;
}

namespace {

/// Calls f(fast, slow) with the indices of each pair of steps whose seconds differ by 0.5 % or
/// more.
template <class F>
void for_each_pair_of(std::vector<double> const& seconds, F f) {
  for (std::size_t i = 0; i < seconds.size(); ++i)
    for (std::size_t k = 0; k < seconds.size(); ++k)
      if (seconds[k] >= 1.005 * seconds[i]) f(i, k);
}

double accuracy_by(held_out const& on, std::vector<double> const& scores) {
  double right = 0, pairs = 0;
  for_each_pair_of(on.seconds, [&](std::size_t fast, std::size_t slow) {
    right += scores[fast] > scores[slow] ? 1 : scores[fast] == scores[slow] ? 0.5 : 0;
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

double held_out::accuracy_of_prediction(hidden_cluster const& on) const {
  std::vector<double> scores;
  for (auto const& p : programs) scores.push_back(-sync::price_of(p, on.assumed(), false).seconds);
  return accuracy_by(*this, scores);
}

double held_out::accuracy_of(sync::corrected_ranker const& r) const {
  std::vector<double> scores;
  for (auto const& p : programs) scores.push_back(r.score(r.price_of(p)));
  return accuracy_by(*this, scores);
}

sync::corrected_ranker learned(hidden_cluster const& on, sync::trial_log const& log) {
  sync::corrected_ranker r(on.space());
  auto const space = on.space().hash();
  r.fit(trials_of(log, space), trials_of(log, space, false));
  return r;
}

namespace {

// All seeds of hidden factors are above this number. Smaller seeds were used while the ranker was
// developed.
constexpr std::uint64_t first_seed = 10;

std::string percent(double part) { return number(100 * part, "%.1f"); }
std::string ms(double seconds) { return number(1e3 * seconds, "%.3f"); }

}  // namespace

void learning_tables::ranking() const {
  csv_file table(folder.empty() ? "" : folder + "/ranking.csv",
                 "model,cluster,wires,seed,near,pairs,prediction,corrected,optimal_ms,tuned_ms");
  for (auto const& model : models)
    for (auto const& name : clusters)
      for (int seed = 1; seed <= seeds; ++seed)
        for (bool const wires : {false, true}) {
          auto const s = static_cast<std::uint64_t>(seed);
          sync::wire_list permitted;
          if (wires) {
            permitted.push_back(ashlar::wires::bf16);
            permitted.push_back(ashlar::wires::with_feedback(ashlar::wires::int8));
          }
          hidden_cluster const on(model, name, hidden_factors::drawn(first_seed + s), permitted);
          auto const found = on.tune({.trials = 20, .seed = s});
          auto const near = held_out::drawn(on, found.log, 1000 + s, 80);
          double const before = near.accuracy_of_prediction(on);
          double const after = near.accuracy_of(learned(on, found.log));
          double const optimal = on.seconds(on.optimum(), {});
          double const tuned = on.seconds(found.chosen, found.division);
          std::printf("%s %s%s seed %d: %zu near, %d pairs, prediction %.3f, corrected %.3f; "
                      "optimal %.5f s, tuned %.5f s\n",
                      model.c_str(), name.c_str(), wires ? " with wires" : "", seed,
                      near.seconds.size(), near.pairs(), before, after, optimal, tuned);
          std::fflush(stdout);
          table.row({model, name, wires ? "bf16 int8" : "none", std::to_string(seed),
                     std::to_string(near.seconds.size()), std::to_string(near.pairs()),
                     percent(before), percent(after), ms(optimal), ms(tuned)});
        }
}

void learning_tables::transfer() const {
  csv_file table(folder.empty() ? "" : folder + "/transfer.csv",
                 "model,from,to,factors,seed,pairs,prediction,started_0,twenty,started_20,hundred");
  if (clusters.size() < 2) throw std::runtime_error("--transfer needs two clusters.");
  for (auto const& model : models)
    for (int seed = 1; seed <= seeds; ++seed)
      for (bool const related : {true, false}) {
        auto const s = static_cast<std::uint64_t>(seed);
        auto const first = hidden_factors::drawn(first_seed + s);
        hidden_cluster const from(model, clusters[0], first);
        hidden_cluster const to(model, clusters[1],
                                related ? first.varied(100 + s, 1.1)
                                        : hidden_factors::drawn(200 + s));
        auto const earlier = from.tune({.trials = 100, .seed = s}).log;
        auto const twenty = to.tune({.trials = 20, .seed = s}).log;
        auto const started = to.tune({.trials = 20, .seed = s, .start = earlier}).log;
        auto const hundred = to.tune({.trials = 100, .seed = s}).log;
        // All rankers are judged by the same held-out candidates, which are in none of the logs.
        auto all = hundred;
        for (auto const* log : {&twenty, &started})
          all.trials.insert(all.trials.end(), log->trials.begin(), log->trials.end());
        auto const near = held_out::drawn(to, all, 1000 + s, 80);
        std::vector<double> const accuracy{
            near.accuracy_of_prediction(to), near.accuracy_of(learned(to, earlier)),
            near.accuracy_of(learned(to, twenty)), near.accuracy_of(learned(to, started)),
            near.accuracy_of(learned(to, hundred))};
        std::printf(
            "%s %s to %s (%s) seed %d: %d pairs, prediction %.3f, file alone %.3f, 20 %.3f, "
            "20 with file %.3f, 100 %.3f\n",
            model.c_str(), clusters[0].c_str(), clusters[1].c_str(),
            related ? "related" : "unrelated", seed, near.pairs(), accuracy[0], accuracy[1],
            accuracy[2], accuracy[3], accuracy[4]);
        std::fflush(stdout);
        std::vector<std::string> row{model,
                                     clusters[0],
                                     clusters[1],
                                     related ? "related" : "unrelated",
                                     std::to_string(seed),
                                     std::to_string(near.pairs())};
        for (double const a : accuracy) row.push_back(percent(a));
        table.row(row);
      }
}

void learning_tables::published() const {
  csv_file table(folder.empty() ? "" : folder + "/published.csv",
                 "model,cluster,method,trials,best_ms,optimal_ms,ratio,first_within_3");
  for (auto const& model : models)
    for (auto const& name : clusters) {
      hidden_cluster const on(model, name, hidden_factors::drawn(first_seed + 1));
      double const optimal = on.seconds(on.optimum(), {});
      auto const report = [&](char const* method, sync::tuned const& found) {
        double const best = on.seconds(found.chosen, found.division);
        std::string first = "never";
        for (std::size_t k = found.log.trials.size(); k-- > 0;)
          if (found.log.trials[k].seconds <= 1.03 * optimal) first = std::to_string(k + 1);
        std::printf("%s %s %s: %zu trials, best %.5f s, optimal %.5f s, ratio %.3f, first within "
                    "3 %%: %s\n",
                    model.c_str(), name.c_str(), method, found.log.trials.size(), best, optimal,
                    best / optimal, first.c_str());
        std::fflush(stdout);
        table.row({model, name, method, std::to_string(found.log.trials.size()), ms(best),
                   ms(optimal), number(best / optimal, "%.3f"), first});
      };
      using sync::ranker_kind;
      report("published; linear", on.tune(sync::published(200, 1, ranker_kind::linear)));
      report("published; perceptron", on.tune(sync::published(200, 1, ranker_kind::perceptron)));
      if (on.space().size() <= 100) {
        auto o = sync::published(200, 1);
        o.proposals = 500;
        o.epochs = 5;
        report("published; LSTM", on.tune(o));
      }
      report("ours", on.tune({.trials = 20}));
    }
}

}  // namespace ashlar_bench
