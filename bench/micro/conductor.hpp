// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs benchmarks on several ranks, although Google Benchmark is made for one process and chooses
// the number of iterations from its own clock. Only rank 0 runs Google Benchmark. It broadcasts
// orders and the other ranks carry them out, so that all ranks make the same calls:
//
//   prepare k   Every rank prepares benchmark k, runs it once and checks its result.
//   run n       Every rank runs the prepared benchmark n times, divided into trials.
//   end s       Every rank leaves the program with exit status s.
//
// A trial is a barrier followed by about a millisecond of runs (support/trials.hpp). The time of a
// trial is the slowest rank's time per run. The reported time of n runs is n times the median over
// the trials.
//
// If a benchmark sets work::in_turns, a second instance of it, with its own operands, runs once
// before each trial. The benchmark then finds the caches and the scheduler in the same state as a
// contestant of bench/redistribute, where other contestants run in between.
//
// An exception on any rank ends all ranks (comm/mpi/environment.hpp).

#include <array>
#include <cstdint>

#include "../support/trials.hpp"
#include "suite.hpp"

namespace ashlar_bench::micro {

class conductor {
 public:
  /// Collective. Every rank must pass the same suite, which must outlive the conductor.
  conductor(MPI_Comm world, suite const& all) : suite_(all), team_{world, all.ranks()} {
    MPI_Comm_rank(world, &rank_);
  }

  bool leads() const { return rank_ == 0; }

  /// Prepares benchmark `k` on all ranks, unless it is already prepared. Returns whether the
  /// benchmark's result is right on every rank. Only rank 0 may call this.
  bool prepare(std::size_t k) {
    if (k != prepared_) do_order({prepare_order, static_cast<std::int64_t>(k)});
    return is_right_;
  }
  /// Runs the prepared benchmark `runs` times on all ranks. Returns the seconds of one run. Only
  /// rank 0 may call this.
  timing run(std::int64_t runs) {
    do_order({run_order, runs});
    return last_;
  }
  work const& prepared() const { return work_; }
  /// Tells all other ranks to leave follow() with this exit status, and returns the status. Only
  /// rank 0 may call this.
  int end(int status) {
    do_order({end_order, status});
    return status;
  }

  /// Carries out the orders of rank 0 until the order `end`. Returns the exit status. Every rank
  /// except rank 0 must call this.
  int follow() {
    for (;;) {
      order received{};
      MPI_Bcast(received.data(), 2, MPI_INT64_T, 0, team_.world);
      perform(received);
      if (received[0] == end_order) return static_cast<int>(received[1]);
    }
  }

 private:
  using order = std::array<std::int64_t, 2>;
  enum : std::int64_t { prepare_order, run_order, end_order };
  static constexpr auto none = static_cast<std::size_t>(-1);

  void do_order(order given) {
    MPI_Bcast(given.data(), 2, MPI_INT64_T, 0, team_.world);
    perform(given);
  }
  void perform(order const& o) {
    if (o[0] == end_order) return void((work_ = {}, other_ = {}));
    try {
      if (o[0] == prepare_order) prepare_here(static_cast<std::size_t>(o[1]));
      else last_ = measured(o[1]);
    } catch (std::exception const& e) {
      throw std::runtime_error(suite_.cases()[prepared_].name + ": " + e.what());
    }
  }

  void prepare_here(std::size_t k) {
    prepared_ = k;
    work_ = {};  // Frees the old operands before the new ones are allocated.
    work_ = suite_.cases()[k].prepare(team_);
    other_ = {};
    if (work_.in_turns) other_ = suite_.cases()[k].prepare(team_);
    work_.run();
    double const wrong = work_.is_right && !work_.is_right() ? 1 : 0;
    is_right_ = most_of_ranks(team_.world, {wrong})[0] == 0;
    std::vector<double> once;
    repeats_ = repeats_of([this] { return most_of_ranks(team_.world, {trial(1)}); }, effort{},
                          once)[0];
  }

  /// Runs the prepared benchmark `calls` times and returns the seconds of one run on this rank.
  double trial(int calls) {
    if (other_.run) other_.run();
    return trial_seconds(team_.world, work_.run, calls);
  }
  timing measured(std::int64_t runs) {
    std::int64_t const trials = (runs + repeats_ - 1) / repeats_;
    std::vector<double> seconds;
    // The numbers of runs in two trials differ by at most one.
    for (std::int64_t t = 0; t < trials; ++t) {
      auto const calls = static_cast<int>(runs / trials + (t < runs % trials ? 1 : 0));
      seconds.push_back(trial(calls));
    }
    auto const slowest = most_of_ranks(team_.world, std::move(seconds));
    return {median_of(slowest), *std::min_element(slowest.begin(), slowest.end()),
            static_cast<int>(trials)};
  }

  suite const& suite_;
  team team_;
  int rank_ = 0;
  std::size_t prepared_ = none;
  work work_;
  work other_;  ///< a second instance with its own operands, if the benchmark runs in turns
  bool is_right_ = true;
  int repeats_ = 1;
  timing last_;
};

}  // namespace ashlar_bench::micro
