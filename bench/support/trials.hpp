// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the benchmarks measure: contestants take turns, so that whatever else the machine does falls
// on all of them alike, and only ratios of one run are reported.
//
//   check        each contestant runs once and says whether its result is right, before any timing
//   trial        a barrier, then `repeats` calls; the time of the slowest rank, over the repeats
//   repeats      as many as make a trial of about a millisecond (effort::trial) by the shortest of three
//                single calls, at most 1000
//   round        one trial of each contestant; the first of a round is another one each time
//   rounds       as many as fit `budget` seconds, between the two limits
//
// Ranks agree on every number that steers the loop.

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

namespace ashlar_bench {

/// What a contestant stands for in tables.
///   ours   redistribute, matmul         bare     MPI calls on the same bytes, nothing packed
///   typed  ours, statically typed       packed   the same with the packing that the result needs
///   limit  copy passes, dgemm           peer     another library
enum class role { ours, typed, bare, packed, peer, limit };

inline char const* to_string(role r) {
  constexpr char const* names[] = {"ours", "typed", "bare", "packed", "peer", "limit"};
  return names[static_cast<int>(r)];
}

struct contestant {
  std::string name;
  role plays = role::bare;
  std::function<void()> run;
  std::function<bool()> is_right;  ///< of this rank's result after run(); empty: nothing to check
};

struct timing {
  double median = 0;  ///< seconds
  double least = 0;
  int trials = 0;
};

struct effort {
  double budget = 1.0;  ///< seconds for all contestants of one measurement
  int least_rounds = 3;
  int most_rounds = 31;
  double trial = 1e-3;  ///< seconds, about
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median_of(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// How many calls make a trial of each contestant. `once()` is the agreed time of a single call of each:
/// asked three times, since one may be disturbed, or less often where calls are much longer than a trial.
/// Leaves the shortest times in `least`.
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

/// Seconds of `repeats` calls after a barrier, over `repeats`, on this rank.
inline double trial_seconds(MPI_Comm comm, std::function<void()> const& run, int repeats) {
  MPI_Barrier(comm);
  double const start = now();
  for (int i = 0; i < repeats; ++i) run();
  return (now() - start) / repeats;
}

/// The largest value of any rank, element by element, on every rank.
inline std::vector<double> most_of_ranks(MPI_Comm comm, std::vector<double> values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                comm);
  return values;
}

/// Runs each contestant once and throws on every rank if a result is wrong on any.
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

/// Times of all contestants, in turns. `seconds_of(run, repeats)` is one trial's time for a call on this
/// rank; `most(values)` the largest of any rank, element by element. Expects: they have run once.
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

/// The same of ranks of MPI, by the host's clock. Expects: check() has run them.
inline std::vector<timing> measure(MPI_Comm comm, std::vector<contestant> const& all,
                                   effort const& how) {
  return measure_by(
      [comm](auto const& run, int repeats) { return trial_seconds(comm, run, repeats); },
      [comm](auto const& values) { return most_of_ranks(comm, values); }, all, how);
}

}  // namespace ashlar_bench
