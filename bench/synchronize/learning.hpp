// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Evaluates what sync::tune learns on clusters whose true figures differ from the assumed ones.
// Nothing is measured on hardware. A step "takes" the seconds of its timeline on a machine whose
// figures are the assumed figures, multiplied by factors that are drawn from a seed:
//
//   alpha and beta of each link   log-uniform between 1/2 and 2
//   each collective, encoding     log-uniform between 1/1.5 and 1.5
//   computation                   log-uniform between 1/1.25 and 1.25
//   each measurement              exp of a normal number of standard deviation 0.01
//
// The program of a step is made for the assumed machine, as in a training. Rankings are judged by
// the seconds without noise, on candidates that were never tried. These candidates are mutations of
// the optimum and of the fastest trial. Candidates that are more than 10 % slower than the fastest
// candidate are left out. A pair of candidates counts if the seconds of their steps differ by 0.5 %
// or more. The noise is a function of the plan and the bucket sizes, so equal plans always have the
// same noise.

#include <cstdint>
#include <string>
#include <vector>

#include <ashlar/sync/tuning/tune.hpp>

#include "cells.hpp"

namespace ashlar_bench {

/// The factors by which the true figures of a cluster differ from the assumed figures.
struct hidden_factors {
  ashlar::sync::influences figures{};  ///< in the order of ashlar::sync::influence
  double work = 1;

  /// Draws factors from a seed.
  static hidden_factors drawn(std::uint64_t seed);
  /// Returns these factors, each multiplied by a random number that is log-uniform between 1/spread
  /// and spread.
  hidden_factors varied(std::uint64_t seed, double spread) const;
};

/// A model on a cluster whose true machine differs from the assumed one. Steps take the time that
/// they take on the true machine.
class hidden_cluster {
 public:
  /// Gradients may have any of `wires`.
  hidden_cluster(std::string const& model, std::string const& cluster, hidden_factors const& f,
                 ashlar::sync::wire_list const& wires = ashlar::sync::lossless);

  ashlar::machine const& assumed() const { return at_.machine; }
  ashlar::sync::strategy_space const& space() const { return space_; }
  /// Returns the plan that sync::optimal chooses for the assumed machine.
  search::plan optimum() const;

  /// Returns the true seconds of a step.
  double seconds(search::program const& made) const;
  double seconds(search::plan const& plan, search::bucket_rule const& division) const;
  /// Returns the measured seconds of a step: the true seconds with noise. The noise depends only on
  /// the plan and the division.
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

/// The programs of candidates that were not tried, and their true seconds.
struct held_out {
  std::vector<search::program> programs;
  std::vector<double> seconds;

  /// Draws `count` different mutations of the optimum and of the fastest trial of a log. None of
  /// them is in the log. Keeps those that are at most 10 % slower than the fastest mutation.
  static held_out drawn(hidden_cluster const& on, ashlar::sync::trial_log const& log,
                        std::uint64_t seed, int count);
  int pairs() const;
  /// Returns the share of pairs that the prediction, or the ranker, puts in the right order. A pair
  /// with equal scores counts as half. Returns 1 if there is no pair.
  double accuracy_of_prediction(hidden_cluster const& on) const;
  double accuracy_of(ashlar::sync::corrected_ranker const& r) const;
};

/// Returns a corrected ranker that has learned from the trials of a log.
ashlar::sync::corrected_ranker learned(hidden_cluster const& on,
                                       ashlar::sync::trial_log const& log);

/// The tables on learning. Each function prints a line for each case. If `folder` is not empty, the
/// function also appends a row for the case to a file in this folder:
///
///   ranking    the accuracy of the prediction, and of the corrected ranker after 20 trials
///   transfer   the accuracy on the second cluster of the prediction, and of four rankers. The
///              first learns from 100 trials on the first cluster, the second from these and from
///              20 on the second cluster. The others learn from 20 or 100 on the second cluster.
///   published  the best strategies of AutoDist's Algorithm 1 with each of its rankers (with the
///              LSTM only for small nets), of 20 trials of ours, and of sync::optimal
struct learning_tables {
  std::string folder;
  std::vector<std::string> models, clusters;
  int seeds = 1;

  void ranking() const;
  void transfer() const;
  void published() const;
};

}  // namespace ashlar_bench
