// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The implementation of overlapped.hpp. It applies passes to a program, one after the other, and
// keeps the result of a pass only if it makes the timeline shorter:
//
//   early moves             redistributions of activations and gradients run during computations;
//                           if micro-batches take turns, also tried with turns that end at fewer
//                           places (turns.hpp)
//   early synchronization   tried with the best buckets for one link (buckets.hpp), without buckets
//                           and, if gradients cross two links or are delayed, with buckets of 4
//                           to 256 MiB. A given division is used even if it does not make the
//                           timeline shorter. The synchronizations of delayed gradients are also
//                           tried at other places of the step (spread_synchronization.hpp)
//   prefetch                tried with each prefetch option; the fastest is kept
//   early synchronization   tried again if prefetch was kept, since gathers then interfere less
//                           with it
//   early renewal           only if parameters are updated at one placement and stored at another;
//                           tried after the updates with buckets of 25 and of 4 MiB, and during the
//                           next forward pass (renewal_first.hpp) with at most 2, at most 4 and all
//                           buckets under way at a time
//
// Some prefetch options keep gathered parameters in memory. These options are tried only if there
// is a memory limit. Without a limit they would win and keep all parameters on every rank, which a
// plan with sharded parameters is meant to avoid.
//
// To add a pass, add a line to with_what_pays.

#include <limits>

#include <ashlar/step/early_moves.hpp>
#include <ashlar/step/early_renewal.hpp>
#include <ashlar/step/early_synchronization.hpp>
#include <ashlar/step/overlap_result.hpp>
#include <ashlar/step/prefetch.hpp>
#include <ashlar/step/renewal_first.hpp>
#include <ashlar/step/spread_synchronization.hpp>
#include <ashlar/step/timeline.hpp>
#include <ashlar/step/turns.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

/// Tries several variants of a pass and keeps the fastest, if it is faster than the current
/// program.
class pass_trial {
 public:
  constexpr pass_trial(overlap_result& result, machine const& m, char const* name)
      : result_(result), machine_(m) {
    report_.pass = name;
    report_.before = report_.after = result.seconds;
  }

  constexpr void consider(pass_result const& tried, prefetch_options const& gathers = {}) {
    if (!tried.applied) {
      if (!report_.kept) report_.reason = tried.reason;
      return;
    }
    double const seconds = timeline_of(tried.made, machine_).seconds;
    if (seconds < report_.after * (1 - 1e-9)) keep(tried, seconds, gathers);
    else if (!report_.kept) report_.reason = "it would not be faster";
  }

  /// Keeps the result of a pass even if it is not faster than the current program.
  constexpr void keep(pass_result const& tried) {
    if (tried.applied) keep(tried, timeline_of(tried.made, machine_).seconds, {});
    else report_.reason = tried.reason;
  }

  constexpr void finish() {
    if (report_.kept) {
      result_.made = best_;
      result_.seconds = report_.after;
    }
    result_.passes.push_back(report_);
  }

 private:
  constexpr void keep(pass_result const& tried, double seconds, prefetch_options const& gathers) {
    best_ = tried.made;
    report_.kept = true;
    report_.reason = "";
    report_.after = seconds;
    report_.gathers = gathers;
  }

  overlap_result& result_;
  machine const& machine_;
  pass_report report_;
  program best_;
};

/// Returns whether the program renews a parameter.
constexpr bool renews(program const& p) {
  for (auto const& m : p.moves)
    if (m.phase == phase::renew) return true;
  return false;
}

/// Returns whether the program synchronizes delayed gradients.
constexpr bool has_pending(program const& p) {
  for (auto const& v : p.values)
    if (v.kind == value_kind::pending) return true;
  return false;
}

/// Returns the divisions of gradients into buckets that are tried. If all synchronizations of a
/// program use the same link, this is only the division of best_buckets. If they use the link
/// within nodes and the link between nodes, transfers of several buckets overlap, which
/// best_buckets does not count. So buckets of fixed sizes are tried, too. They are also tried for
/// delayed gradients, since other moves can run between small buckets.
constexpr std::vector<bucket_numbers> divisions_to_try(program const& p, machine const& m) {
  std::vector<bucket_numbers> list{best_buckets(p, m)};
  bool uses[2]{};
  for (auto const& move : p.moves)
    if (move.phase == phase::synchronize)
      for (auto const& s : p.path_of(move).steps)
        if (communicates(s.kind)) uses[static_cast<int>(tier_of(s, p.mesh))] = true;
  if ((!uses[0] || !uses[1]) && !has_pending(p)) return list;
  for (std::int64_t const bytes : {4 << 20, 16 << 20, 64 << 20, 256 << 20}) {
    auto numbers = buckets_of_size(p, bytes);
    bool is_known = false;
    for (auto const& known : list) is_known = is_known || known == numbers;
    if (!is_known) list.push_back(static_cast<bucket_numbers&&>(numbers));
  }
  return list;
}

constexpr overlap_result with_what_pays(program const& p, machine const& m,
                                        overlap_options const& options) {
  overlap_result result{p, serial_seconds(p, m).seconds(), timeline_of(p, m).seconds, {}};
  bool const is_delayed = has_pending(p);
  auto const synchronize = [&](bool again) {
    pass_trial trial(result, m, "early synchronization");
    auto const consider = [&](bucket_numbers const& numbers) {
      trial.consider(early_synchronization(result.made, numbers, options.limit));
      if (!is_delayed) return;
      for (auto const& starts :
           {spread_starts(result.made, numbers, m), undelayed_starts(result.made)})
        trial.consider(early_synchronization(result.made, numbers, options.limit, starts));
    };
    if (options.buckets && options.division.kind != bucketing::best) {
      auto const given = early_synchronization(
          result.made, buckets_of_size(result.made, options.division), options.limit);
      if (again) trial.consider(given);
      else trial.keep(given);
      trial.finish();
      return;
    }
    if (options.buckets)
      for (auto const& numbers : divisions_to_try(result.made, m)) consider(numbers);
    consider(buckets_of_size(result.made, 0));
    trial.finish();
  };
  pass_trial moves(result, m, "early moves");
  moves.consider(early_moves(p, options.limit));
  if (p.interleaved > 1)
    if (auto const longer = take_turns(p, p.interleaved, turn_ends::at_moves); longer.applied)
      moves.consider(early_moves(longer.made, options.limit));
  moves.finish();
  synchronize(false);
  pass_trial gathers(result, m, "prefetch");
  for (auto const& g : options.gathers)
    if (g.often == gathered::each_pass || options.limit > 0)
      gathers.consider(prefetch(result.made, g, options.limit), g);
  gathers.finish();
  if (result.passes.back().kept) synchronize(true);
  if (renews(p)) {
    pass_trial renewals(result, m, "early renewal");
    for (std::int64_t const bytes : {25 << 20, 4 << 20})
      renewals.consider(early_renewal(result.made, bytes, options.limit));
    for (int const under_way : {2, 4, std::numeric_limits<int>::max()})
      if (options.renews_first)
        renewals.consider(renewal_first(result.made, m, under_way, options.limit));
    renewals.finish();
  }
  return result;
}

}  // namespace step_detail
}  // namespace step
}  // namespace ashlar::search
