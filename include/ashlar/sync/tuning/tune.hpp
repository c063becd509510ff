// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds strategies for the parameters of a plan by trials: measured steps.
//
//   auto const found = sync::tune(problem, plan, machine, {.trials = 20, .seed = 1},
//                                 [&](search::plan const& p) { return seconds of a step; });
//
// The loop is Algorithm 1 of AutoDist (Zhang et al., section 2.4). Options choose between these two
// columns:
//
//                    by default                              published()
//   first trial      the strategies of sync::optimal         none
//   candidates       mutations of the fastest trials and     the guided sampler
//                    of the first one
//   ranker           predicted seconds times a correction    the bidirectional LSTM, or another
//                                                            ranker of AutoDist
//   fidelity         –                                       candidates below the level are
//                                                            rejected (fidelity.hpp)
//   chosen           the highest upper confidence bounds     the best by score and diversity
//
// A trial is never repeated. Candidates that do not fit in the memory of the machine are not tried.
// If three rounds in a row have no new candidate that fits, the search ends with fewer trials.
// The result is the fastest trial, so it is as good as the measurements. A search may start from a
// log of earlier trials (options.start). Earlier trials of this space are not repeated and do not
// count in options.trials, but the ranker learns from them, and one of them may be the result.
// Trials of other spaces serve only the ranker, which learns from them before it ranks anything.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ashlar/sync/optimal.hpp>
#include <ashlar/sync/tuning/candidate_ranker.hpp>
#include <ashlar/sync/tuning/fidelity.hpp>
#include <ashlar/sync/tuning/guided_sampler.hpp>

namespace ashlar::sync {

struct tuning_options {
  int trials = 20;         ///< steps that are measured
  std::uint64_t seed = 1;  ///< the seed of all random choices
  ranker_kind ranker = ranker_kind::corrected;
  bool starts_optimal = true;  ///< whether the first trial has the strategies of sync::optimal
  bool mutates = true;         ///< whether candidates are mutations of trials
  bool filters = false;        ///< whether candidates below the fidelity level are rejected
  int proposals = 48;          ///< candidates of a round
  int each_round = 5;          ///< trials of a round
  double accuracy = 0.8;       ///< the ranking accuracy that the fidelity level demands
  double diversity = 0.5;      ///< the bonus for strategies that no chosen candidate has (choose)
  int epochs = 40;             ///< epochs of a network in each round
  sampler_options sampling{};
  wire_list wires = lossless;  ///< wires that gradients may have (sync/optimal.hpp)
  trial_log start{};           ///< earlier trials
  /// Called after each trial with the trials of `start` and all trials so far, for example to save
  /// them.
  std::function<void(trial_log const&)> on_trial{};
};

/// Returns the options with which `tune` is Algorithm 1 as AutoDist published it.
inline tuning_options published(int trials = 200, std::uint64_t seed = 1,
                                ranker_kind ranker = ranker_kind::recurrent) {
  tuning_options o;
  o.trials = trials;
  o.seed = seed;
  o.ranker = ranker;
  o.starts_optimal = o.mutates = false;
  o.filters = true;
  o.proposals = 2000;
  o.each_round = 10;
  return o;
}

/// The result of `tune`.
template <int N>
struct basic_tuned {
  search::basic_plan<N> chosen;    ///< the plan of the fastest trial; its seconds are predicted
  search::bucket_rule division{};  ///< how the gradients of this trial were divided into buckets
  double seconds = 0;              ///< the measured seconds of the fastest trial
  int trials = 0;                  ///< steps that this call has measured; fewer than were asked for
                                   ///< if no other candidates were found that fit in memory
  trial_log log;                   ///< the trials of options.start, then those of this call
};

using tuned = basic_tuned<search::dynamic_size>;

namespace detail {

/// Runs the trials. `measure(plan, division)` returns the seconds of a step. `division` says how
/// the step divides gradients into buckets.
template <class Measure>
class tuner {
 public:
  tuner(strategy_space const& space, tuning_options const& o, Measure measure)
      : space_(space), o_(o), measure_(measure), sampler_(space, o.seed, o.sampling),
        ranker_(space, o.ranker, o.seed, o.epochs), hash_(space.hash()) {
    if (o.proposals < 1 || o.each_round < 1)
      throw error("sync::tune", "a round has no proposals or no trials. Write 1 or more for "
                                "options.proposals and options.each_round.");
    auto const parameters = parameters_hash(space.net());
    if (o.start.parameters != 0 && o.start.parameters != parameters)
      throw error("sync::tune", "the earlier trials are of another net. Give those of a net with "
                                "the same parameters.");
    // If candidates have no buckets of their own (sampler_options::divides), this call cannot make
    // the strategy of a trial that has buckets. Such a trial serves only the ranker.
    for (auto const& t : o.start.trials) {
      bool const is_own = t.space == hash_ &&
                          (o.sampling.divides || t.strategy.division == search::bucket_rule{});
      (is_own ? own_ : others_).push_back(t);
    }
    for (auto const& t : own_)
      if (char const* const wrong = space.fault(t.strategy))
        throw error("sync::tune", std::string("an earlier trial is damaged: ") + wrong);
    log_ = o.start;
    log_.parameters = parameters;
  }

  trial_log run() {
    if (o_.starts_optimal) try_optimum();
    train();
    // After a round without a trial, the next round may find a candidate that fits, or the space
    // may be exhausted. So the loop ends early only after three such rounds in a row.
    for (int empty = 0; done_ < o_.trials && empty < 3;) {
      auto const before = own_.size();
      try_best_of(elite(proposals()));
      empty = own_.size() > before ? 0 : empty + 1;
      if (own_.size() > before && done_ < o_.trials) learn();
    }
    return log_;
  }

  /// Returns the number of steps that were measured.
  int done() const { return done_; }

  /// Returns the fastest trial of this space, or null if there is none.
  trial const* best() const {
    trial const* found = nullptr;
    for (auto const& t : own_)
      if (found == nullptr || t.seconds < found->seconds) found = &t;
    return found;
  }

 private:
  void try_optimum() {
    optimal_options how;
    how.wires = o_.wires;
    auto const plan = optimal(space_.net(), space_.start(), space_.machine(), how).chosen;
    optimum_ = space_.candidate_of(plan);
    if (done_ < o_.trials && !was_tried(*optimum_)) try_out(*optimum_);
  }

  bool was_tried(candidate const& c) const {
    for (auto const& t : own_)
      if (t.strategy == c) return true;
    return false;
  }

  /// Tries the candidates of a round that the ranker chooses. Those that turn out not to fit in
  /// memory are replaced by others.
  void try_best_of(std::vector<described_candidate> list) {
    for (int left = o_.each_round; left > 0 && done_ < o_.trials && !list.empty();) {
      auto const chosen = ranker_.choose(list, left, o_.diversity);
      std::vector<bool> is_chosen(list.size(), false);
      for (auto const k : chosen) {
        is_chosen[k] = true;
        if (done_ < o_.trials && try_out(list[k].strategy)) --left;
      }
      std::vector<described_candidate> rest;
      for (std::size_t k = 0; k < list.size(); ++k)
        if (!is_chosen[k]) rest.push_back(std::move(list[k]));
      list = std::move(rest);
    }
  }

  /// Measures a candidate and returns true. Returns false if the candidate does not fit in memory.
  bool try_out(candidate const& c) {
    auto const plan = space_.plan_of(c);
    auto const assumed = price_of(program_of(space_, plan, c.division), space_.machine(), true);
    if (!assumed.fits || !plain_steps_fit(space_, plan, c.division)) return false;
    double const seconds = measure_(plan, c.division);
    if (!(seconds > 0) || !std::isfinite(seconds))
      throw error("sync::tune", "a trial took " + std::to_string(seconds) +
                                    " seconds. Return the positive seconds of a step, the same on "
                                    "all ranks.");
    ++done_;
    own_.push_back(
        {hash_, seconds, assumed.seconds, assumed.slopes, features_of(space_, c).totals, c});
    log_.trials.push_back(own_.back());
    if (o_.on_trial) o_.on_trial(log_);
    return true;
  }

  /// Draws the candidates of a round, none of which was tried before. A candidate that the ranker
  /// has priced and that does not fit in memory is replaced by another draw, up to a limit.
  std::vector<described_candidate> proposals() {
    std::vector<described_candidate> list;
    std::vector<trial const*> fastest;
    for (auto const& t : own_) fastest.push_back(&t);
    std::stable_sort(fastest.begin(), fastest.end(),
                     [](auto const* a, auto const* b) { return a->seconds < b->seconds; });
    int unfit = 0;
    for (int k = 0; k < o_.proposals + std::min(unfit, 8 * o_.proposals); ++k) {
      candidate c;
      if (!o_.mutates || fastest.empty()) c = sampler_.draw();
      else if (k % 4 == 0 && optimum_) c = sampler_.mutated(*optimum_);
      else {
        auto const rank = static_cast<std::size_t>(k % 4 == 1 ? k / 4 % 5 : 0);
        c = sampler_.mutated(fastest[std::min(rank, fastest.size() - 1)]->strategy);
      }
      bool is_new = !was_tried(c);
      for (auto const& it : list) is_new = is_new && !(it.strategy == c);
      if (!is_new) continue;
      auto made = ranker_.described(std::move(c));
      if (made.predicted.fits) list.push_back(std::move(made));
      else ++unfit;
    }
    return list;
  }

  /// Removes the candidates below the fidelity level, but keeps at least as many as a round tries.
  std::vector<described_candidate> elite(std::vector<described_candidate> list) {
    for (auto& c : list) c.score = ranker_.score(c);
    std::stable_sort(list.begin(), list.end(),
                     [](auto const& a, auto const& b) { return a.score > b.score; });
    auto kept = list.size();
    if (o_.filters && level_) {
      double const least = ranker_.score(ranker_.described(own_[*level_].strategy));
      kept = 0;
      while (kept < list.size() && list[kept].score >= least) ++kept;
      kept = std::max(kept, std::min(list.size(), static_cast<std::size_t>(o_.each_round)));
    }
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(kept), list.end());
    return list;
  }

  /// Computes the fidelity level (fidelity.hpp) from the trials of the last round, on which the
  /// ranker is not trained yet. Afterwards trains the ranker on all trials.
  void learn() {
    if (o_.filters) {
      std::vector<double> scores, seconds;
      for (auto k = learned_; k < own_.size(); ++k) {
        scores.push_back(ranker_.score(ranker_.described(own_[k].strategy)));
        seconds.push_back(own_[k].seconds);
      }
      level_ = fidelity_trial_of_round(learned_, scores, seconds, o_.accuracy);
    }
    train();
  }

  void train() {
    ranker_.fit(own_, others_);
    learned_ = own_.size();
  }

  strategy_space const& space_;
  tuning_options const& o_;
  Measure measure_;
  guided_sampler sampler_;
  candidate_ranker ranker_;
  std::uint64_t hash_;
  std::vector<trial> own_, others_;
  trial_log log_;
  std::optional<candidate> optimum_;
  std::optional<std::size_t> level_;
  int done_ = 0;
  std::size_t learned_ = 0;  // trials of own_ that the ranker was trained on
};

}  // namespace detail

/// Measures `options.trials` strategies for the parameters of plan `chosen`. Returns the fastest of
/// these and of the earlier trials of this space. seconds_of_step(plan), or seconds_of_step(plan,
/// division), returns the mean seconds of some steps after a warm-up. The number must be equal on
/// all ranks, since each of them chooses the next trial by it. With the first form, gradients are
/// divided as the library divides them. Communicates nothing itself. Source: Algorithm 1 of
/// AutoDist. Throws ashlar::error in these cases:
///
///   - `chosen` is a plan of another net, keeps gradients in rows or has wires.
///   - Gradients cannot have one of options.wires.
///   - The earlier trials are damaged or of another net.
///   - A round has no proposals or no trials, or no trial was made.
///   - The measured seconds are not positive.
///   - sync::optimal throws, if options.starts_optimal is set.
template <int N, class Measure>
basic_tuned<N> tune(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                    machine const& m, tuning_options const& options, Measure seconds_of_step) {
  strategy_space const space(search::any_length(net),
                             search::with_capacity<search::dynamic_size>(chosen), m, options.wires);
  constexpr bool takes_division =
      std::is_invocable_v<Measure&, search::basic_plan<N> const&, search::bucket_rule const&>;
  auto const measure = [&](search::plan const& p, search::bucket_rule const& division) -> double {
    auto const plan = search::with_capacity<N>(p);
    if constexpr (takes_division) return seconds_of_step(plan, division);
    else return seconds_of_step(plan);
  };
  auto how = options;
  // Without overlap, the division into buckets does not change the step.
  how.sampling.divides = options.sampling.divides && takes_division && net.overlap;
  detail::tuner<decltype(measure)> run(space, how, measure);
  basic_tuned<N> made;
  made.log = run.run();
  auto const* const best = run.best();
  if (best == nullptr)
    throw error("sync::tune", "no trial was made: no strategy that was drawn fits in the memory "
                              "of the machine, or options.trials is 0.");
  made.chosen = search::with_capacity<N>(space.plan_of(best->strategy));
  made.division = best->strategy.division;
  made.seconds = best->seconds;
  made.trials = run.done();
  return made;
}

}  // namespace ashlar::sync
