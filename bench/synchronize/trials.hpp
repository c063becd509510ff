// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The strategies that are compared in each cell, and their seconds. All seconds are those of
// timelines of the library's programs.
//
//   builder_trials   each builder of the library with each division of gradients into buckets
//   sampler          random strategies, as AutoDist's guided sampler draws them
//
// How the choices of the paper's sampler map to strategies here:
//
//   the variable is partitioned  never up to 100,000 bytes, always from 64 MiB on, else with the
//                                probability (bytes - low) / (high - low)
//   partitioned, PS              updated in parts along some axes: one of these strategies of
//                                sync::strategies, all alike
//   partitioned, AR; AR          all-reduce: a ring divides the gradient anyway
//   PS                           an owner, with local copies or read at use
//   owners                       the largest parameter first; softmax over what a rank lacks until
//                                all have equal bytes
//   groups                       1 to 20 buckets of equal bytes

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <ashlar/step/bucket_rule.hpp>
#include <ashlar/step/plan.hpp>

#include "cells.hpp"

namespace ashlar_bench {

/// A strategy with its division into buckets, and the seconds of a step.
struct trial {
  std::string name, division;
  bool is_of_paper = false;  ///< whether the paper compares with this builder
  double seconds = 0;
};

/// Returns the seconds of a step of the plan with gradients divided by `rule`. All other passes are
/// those that the library chooses.
double seconds_of(search::problem const& net, search::plan const& plan, ashlar::machine const& m,
                  search::bucket_rule const& rule);

/// A division of gradients into buckets, with its name.
struct named_rule {
  std::string name;
  search::bucket_rule rule;
};
std::vector<named_rule> all_rules();

/// Returns all builders with all divisions.
std::vector<trial> builder_trials(search::problem const& net, search::plan const& plain,
                                  ashlar::machine const& m);

class sampler {
 public:
  /// All arguments must outlive this object.
  sampler(search::problem const& net, search::plan const& plain, ashlar::machine const& m,
          std::uint64_t seed)
      : net_(net), plain_(plain), machine_(m), random_(seed) {}

  /// Returns the seconds of the next random strategy.
  double next();

 private:
  double uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool is_split(double bytes);
  void deal(std::vector<search::parameter_choice>& picked, std::vector<double> const& bytes);

  search::problem const& net_;
  search::plan const& plain_;
  ashlar::machine const& machine_;
  std::mt19937_64 random_;
};

}  // namespace ashlar_bench
