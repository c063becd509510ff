// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures contestants, which are different programs for the same task. They take turns, so that
// disturbances of the machine affect all of them equally. The tables compare only times of one run.
//
//   check        Each contestant runs once, and its result is checked before anything is timed.
//   trial        A barrier followed by `repeats` calls. The time of a call is the time of the
//                slowest rank divided by `repeats`.
//   repeats      The number of calls with which a trial lasts about effort::trial seconds (default
//                1 ms), estimated from the shortest of up to three single calls. At least 1,
//                at most 1000.
//   round        One trial of each contestant. Each round begins with another contestant.
//   rounds       As many as fit into effort::budget seconds, between least_rounds and most_rounds.
//
// All ranks use the same numbers of repeats and rounds, which are computed from maxima over the
// ranks.

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

#include "clock.hpp"

namespace ashlar_bench {

/// The role of a contestant in the tables.
///   ours    the library: redistribute, matmul
///   typed   the library with static types
///   bare    MPI calls on the same bytes without any packing
///   packed  MPI calls with the packing that the result needs
///   peer    another library
///   limit   a limit of the hardware: copies, dgemm
enum class role { ours, typed, bare, packed, peer, limit };

inline char const* to_string(role r) {
  constexpr char const* names[] = {"ours", "typed", "bare", "packed", "peer", "limit"};
  return names[static_cast<int>(r)];
}

struct contestant {
  std::string name;
  role plays = role::bare;
  std::function<void()> run;
  /// Returns whether this rank's result is right after run(). Empty if there is nothing to check.
  std::function<bool()> is_right;
};

struct timing {
  double median = 0;  ///< the median of the trials, in seconds per call
  double least = 0;   ///< the shortest trial, in seconds per call
  int trials = 0;     ///< the number of trials; 0 if nothing was measured
};

struct effort {
  /// The seconds that all contestants of one measurement take together, roughly.
  double budget = 1.0;
  int least_rounds = 3;
  int most_rounds = 31;
  double trial = 1e-3;  ///< the length of a trial in seconds, roughly
};

/// Returns the number of calls in a trial, for each contestant. Single calls are measured up to
/// three times, because one measurement may be disturbed. The measuring stops earlier if the calls
/// take much longer than a trial should.
///
///   once()   makes a single call of each contestant; returns their seconds, equal on all ranks
///   least    receives the shortest time of a single call of each contestant
template <class Once>
std::vector<int> repeats_of(Once const& once, effort const& how, std::vector<double>& least) {
  for (int i = 0; i < 3; ++i) {
    auto const seconds = once();
    double all = 0;
    if (i == 0) least = seconds;
    for (std::size_t c = 0; c < seconds.size(); ++c) {
      least[c] = std::min(least[c], seconds[c]);
      all += seconds[c];
    }
    if (all > 10 * how.trial * static_cast<double>(seconds.size())) break;
  }
  std::vector<int> repeats;
  for (double const t : least)
    repeats.push_back(std::clamp(static_cast<int>(how.trial / std::max(t, 1e-9)), 1, 1000));
  return repeats;
}

/// Waits at a barrier and then makes `repeats` calls. Returns the average seconds of a call on this
/// rank.
inline double trial_seconds(MPI_Comm comm, std::function<void()> const& run, int repeats) {
  MPI_Barrier(comm);
  double const start = now();
  for (int i = 0; i < repeats; ++i) run();
  return (now() - start) / repeats;
}

/// Returns the maximum over all ranks of each element. Every rank gets the result. Collective.
inline std::vector<double> most_of_ranks(MPI_Comm comm, std::vector<double> values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                comm);
  return values;
}

/// Runs each contestant once. Throws on every rank if a result is wrong on any rank.
inline void check(MPI_Comm comm, std::vector<contestant> const& all, std::string const& what) {
  for (auto const& c : all) {
    c.run();
    int wrong = c.is_right && !c.is_right() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
    if (wrong > 0)
      throw std::runtime_error(what + ": the result of " + c.name + " is wrong on " +
                               std::to_string(wrong) + " ranks.");
  }
}

/// Measures all contestants in turns. Expects that each contestant has run once.
///
///   seconds_of(run, repeats)   runs one trial on this rank; returns its seconds per call
///   most(values)               returns the maximum over all ranks of each element of `values`
template <class SecondsOf, class Most>
std::vector<timing> measure_by(SecondsOf const& seconds_of, Most const& most,
                               std::vector<contestant> const& all, effort const& how) {
  std::vector<double> once;
  auto const single_calls = [&] {
    std::vector<double> seconds;
    for (auto const& c : all) seconds.push_back(seconds_of(c.run, 1));
    return most(seconds);
  };
  std::vector<int> const repeats = repeats_of(single_calls, how, once);
  double round = 0;
  for (std::size_t c = 0; c < once.size(); ++c) round += once[c] * repeats[c];
  int const rounds = std::clamp(static_cast<int>(how.budget / std::max(round, 1e-9)),
                                how.least_rounds, std::max(how.least_rounds, how.most_rounds));
  std::size_t const n = all.size();
  std::vector<std::vector<double>> seconds(n);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r)
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t const c = (r + i) % n;
      seconds[c].push_back(seconds_of(all[c].run, repeats[c]));
    }
  std::vector<timing> result;
  for (auto const& mine : seconds) {
    auto const slowest = most(mine);
    result.push_back(
        {median_of(slowest), *std::min_element(slowest.begin(), slowest.end()), rounds});
  }
  return result;
}

/// Measures all contestants in turns, on all ranks of `comm`, with the host's clock. Expects that
/// check() has run each contestant once. Collective.
inline std::vector<timing> measure(MPI_Comm comm, std::vector<contestant> const& all,
                                   effort const& how) {
  return measure_by(
      [comm](auto const& run, int repeats) { return trial_seconds(comm, run, repeats); },
      [comm](auto const& values) { return most_of_ranks(comm, values); }, all, how);
}

}  // namespace ashlar_bench
