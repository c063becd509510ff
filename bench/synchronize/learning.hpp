// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What sync::tune learns, on clusters whose true figures differ from the assumed ones. Nothing is
// measured on hardware. A step "takes" the seconds of its timeline on a machine whose figures are
// the assumed ones times factors that a seed draws:
//
//   alpha and beta of each link   log-uniform between 1/2 and 2
//   each collective, encoding     log-uniform between 1/1.5 and 1.5
//   computation                   log-uniform between 1/1.25 and 1.25
//   each measurement              exp of a normal number of standard deviation 0.01
//
// The program of a step is that of the assumed machine, as in a training. Rankings are judged by
// the seconds without noise, on candidates that were never tried. These are mutations of the
// optimum and of the fastest trial, of which those are left out that are more than 10 % slower than
// the fastest one. A pair counts if its two steps differ by 0.5 % or more. Noise is a function of
// plan and bucket sizes, so equal plans have the same noise in all cases.

#include <cstdint>
#include <string>
#include <vector>

#include <ashlar/sync/tuning/tune.hpp>

#include "cells.hpp"

namespace ashlar_bench {

/// The factors between true and assumed figures of a cluster.
struct hidden_factors {
  ashlar::sync::influences figures{};  ///< in the order of ashlar::sync::influence
  double work = 1;

  /// Draws factors by a seed.
  static hidden_factors drawn(std::uint64_t seed);
  /// Returns these factors times others, each log-uniform between 1/spread and spread.
  hidden_factors varied(std::uint64_t seed, double spread) const;
};

/// A model on a cluster, with a clock of the true machine.
class hidden_cluster {
 public:
  /// If `wires` is true, gradients may have wires.
  hidden_cluster(std::string const& model, std::string const& cluster, hidden_factors const& f,
                 ashlar::sync::wire_list const& wires = ashlar::sync::lossless);

  ashlar::machine const& assumed() const { return at_.machine; }
  ashlar::sync::strategy_space const& space() const { return space_; }
  /// Returns what sync::optimal chooses for the assumed machine.
  search::plan optimum() const;

  /// Returns the true seconds of a step.
  double seconds(search::program const& made) const;
  double seconds(search::plan const& plan, search::bucket_rule const& division) const;
  /// Returns the seconds that a measurement of a step gives: with noise, which only the plan and
  /// the division determine.
  double measured(search::plan const& plan, search::bucket_rule const& division) const;

  /// Runs sync::tune on measured steps.
  ashlar::sync::tuned tune(ashlar::sync::tuning_options o) const;

 private:
  cluster at_;
  search::problem net_;
  search::plan plain_;
  ashlar::machine true_;
  double work_;
  ashlar::sync::wire_list wires_;
  ashlar::sync::strategy_space space_;
};

/// Candidates that were not tried, with their true seconds.
struct held_out {
  std::vector<search::program> programs;
  std::vector<double> seconds;

  /// Draws `count` mutations of the optimum and of the fastest trial of a log, and keeps those that
  /// are at most 10 % slower than the fastest.
  static held_out drawn(hidden_cluster const& on, ashlar::sync::trial_log const& log,
                        std::uint64_t seed, int count);
  int pairs() const;
  /// Returns the share of pairs in the right order: by the prediction, or by the ranker.
  double accuracy_of_prediction(hidden_cluster const& on) const;
  double accuracy_of(ashlar::sync::corrected_ranker const& r) const;
};

/// Returns a corrected ranker that has learned from the trials of a log.
ashlar::sync::corrected_ranker learned(hidden_cluster const& on,
                                       ashlar::sync::trial_log const& log);

/// The tables on learning. Each function prints a line for each case, and appends it to a file in
/// `folder` if this is not empty:
///
///   ranking    accuracy of the corrected ranker after 20 trials, and of the prediction
///   transfer   20 trials that start from 100 on the first cluster, beside 20 and 100 from nothing,
///              on the second one
///   published  the best strategy of Algorithm 1 as published, with each ranker but the recurrent
///              one on large nets, and of 20 trials of ours, beside sync::optimal
struct learning_tables {
  std::string folder;
  std::vector<std::string> models, clusters;
  int seeds = 1;

  void ranking() const;
  void transfer() const;
  void published() const;
};

}  // namespace ashlar_bench
