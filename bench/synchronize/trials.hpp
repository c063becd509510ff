// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The strategies that are compared in each cell, and their seconds. All seconds are those of
// timelines of the library's programs.
//
//   builder_trials   each builder of the library with each division of gradients into buckets
//
// The benchmark compares them with random strategies of sync::guided_sampler. The comment of
// guided_sampler says how the choices of the paper's sampler map to strategies here.

#include <string>
#include <vector>

#include <ashlar/step/bucket_rule.hpp>
#include <ashlar/step/plan.hpp>

#include "cells.hpp"

namespace ashlar_bench {

/// A strategy with its division into buckets, and the seconds of a step.
struct trial {
  std::string name, division;
  bool is_of_paper = false;  ///< whether it is a builder of the paper with fixed bucket sizes
  double seconds = 0;
};

/// Returns the seconds of an overlapped step of the plan. `rule` divides the gradients into
/// buckets. The library chooses all other optimizations of the program.
double seconds_of(search::problem const& net, search::plan const& plan, ashlar::machine const& m,
                  search::bucket_rule const& rule);

/// A division of gradients into buckets, with its name.
struct named_rule {
  std::string name;
  search::bucket_rule rule;
};
std::vector<named_rule> all_rules();

/// Returns a trial of each builder with each division into buckets.
std::vector<trial> builder_trials(search::problem const& net, search::plan const& plain,
                                  ashlar::machine const& m);

}  // namespace ashlar_bench
