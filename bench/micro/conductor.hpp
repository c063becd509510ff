// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How several ranks run benchmarks whose number of iterations Google Benchmark chooses. Only rank 0 runs
// that library. It broadcasts orders, and the other ranks follow them, so all ranks make the same calls
// whatever the library decides from its own clocks and random numbers:
//
//   prepare k   every rank prepares benchmark k, runs it once and checks its result
//   run n       every rank runs the prepared benchmark n times, in trials
//   end s       every rank leaves with exit status s
//
// Times are taken as all benchmarks here take them (support/trials.hpp): a trial is a barrier and about a
// millisecond of calls, its time is that of the slowest rank, and the time of n runs is n times the median
// of the trials. A benchmark may ask for turns: then a second instance of it, with operands of its own,
// runs once before each trial. It leaves the caches and the scheduler as the contestants of
// bench/redistribute leave them to each other. An exception ends the job (comm/mpi/environment.hpp).

#include <array>
#include <cstdint>

#include "../support/trials.hpp"
#include "suite.hpp"

namespace ashlar_bench::micro {

class conductor {
 public:
  /// Collective. Expects the same suite on every rank; the suite outlives this.
  conductor(MPI_Comm world, suite const& all) : suite_(all), team_{world, all.ranks()} {
    MPI_Comm_rank(world, &rank_);
  }

  bool leads() const { return rank_ == 0; }

  /// For rank 0: prepares benchmark `k`, unless it is already. Returns whether its results are right.
  bool prepare(std::size_t k) {
    if (k != prepared_) do_order({prepare_order, static_cast<std::int64_t>(k)});
    return is_right_;
  }
  /// For rank 0: seconds of a run of the prepared benchmark, by `runs` runs.
  timing run(std::int64_t runs) {
    do_order({run_order, runs});
    return last_;
  }
  work const& prepared() const { return work_; }
  /// For rank 0: lets all ranks leave. Returns `status`.
  int end(int status) {
    do_order({end_order, status});
    return status;
  }

  /// For the other ranks: follows orders until the end. Returns the exit status.
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
    work_ = {};  // before the next one's operands are made
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

  /// Seconds of a call on this rank.
  double trial(int calls) {
    if (other_.run) other_.run();
    return trial_seconds(team_.world, work_.run, calls);
  }
  timing measured(std::int64_t runs) {
    std::int64_t const trials = (runs + repeats_ - 1) / repeats_;
    std::vector<double> seconds;
    for (std::int64_t t = 0; t < trials; ++t) {  // of lengths that differ by one at most
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
