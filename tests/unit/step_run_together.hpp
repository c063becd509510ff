// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers for tests of the programs of a pipeline's parts: schedules, and a joint run of all parts
// in which every transfer waits until both of its ends have begun.

#include <map>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/search/stages.hpp>
#include <ashlar/step/build_stage.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/crossings_at_once.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>
#include <ashlar/step/program.hpp>

#include "step_programs.hpp"

namespace ashlar_test {

namespace search = ashlar::search;

inline std::vector<ashlar::pipelines::schedule> pipelines_for(int positions, int m) {
  namespace pipelines = ashlar::pipelines;
  std::vector<pipelines::schedule> list{
      pipelines::gpipe(positions, m), pipelines::one_f_one_b(positions, m),
      pipelines::eager(positions, m), pipelines::zb_h1(positions, m),
      pipelines::zb_v(positions, m)};
  if (m % positions == 0) list.push_back(pipelines::interleaved(positions, m, 2));
  return list;
}

/// Runs the programs of all parts together. A crossing is complete when its send and its receive
/// have begun. Returns whether all programs finish.
inline bool run_together(std::vector<search::program> const& parts) {
  std::vector<std::size_t> at(parts.size(), 0);
  std::map<int, int> begun;  // by number of the crossing: how many of its ends have begun
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (; at[p] < parts[p].actions.size(); ++at[p], moved = true) {
        auto const& a = parts[p].actions[at[p]];
        if (a.crossing < 0) continue;
        int const number = parts[p].crossing_of(a).number;
        if (a.kind == search::action_kind::begin_send ||
            a.kind == search::action_kind::begin_receive)
          ++begun[number];
        else if (begun[number] < 2) break;
      }
  }
  bool over = true;
  for (std::size_t p = 0; p < parts.size(); ++p) over = over && at[p] == parts[p].actions.size();
  return over;
}

/// Returns the limits of random stages, as many as the schedule has. The stages are cut at cutting
/// points of the net. Returns an empty list if the net has too few cutting points.
inline std::vector<int> any_limits(search::problem const& net,
                                   ashlar::pipelines::schedule const& order, random_cases& draw) {
  auto const points = search::detail::cutting_points(net);
  if (order.stages() >= static_cast<int>(points.size())) return {};
  std::vector<int> limits(points.begin() + 1, points.end() - 1);
  while (static_cast<int>(limits.size()) >= order.stages())
    limits.erase(limits.begin() + draw.below(static_cast<int>(limits.size())));
  limits.insert(limits.begin(), 0);
  limits.push_back(net.size());
  return limits;
}

/// Builds the programs of all parts of a pipeline. Checks each program before and after the passes
/// that overlap transfers, and checks that all programs finish in a joint run. Returns the programs
/// without overlap.
inline std::vector<search::program> right_programs(search::problem const& chain, search::plan plan,
                                                   ashlar::machine const& m,
                                                   search::pipeline_part part) {
  std::vector<search::program> programs, overlapped, at_once;
  for (part.position = 0; part.position < part.order.positions; ++part.position) {
    plan.mesh = part.parts[static_cast<std::size_t>(part.position)].axes;
    programs.push_back(build_stage(chain, plan, m, part));
    overlapped.push_back(search::overlapped(programs.back(), m).made);
    at_once.push_back(search::with_crossings_at_once(overlapped.back()));
    for (auto const* p : {&programs.back(), &overlapped.back(), &at_once.back()}) {
      auto const fault = check(*p);
      INFO(to_string(part.order));
      INFO(search::to_string(fault, *p));
      CHECK(!fault.found());
    }
  }
  CHECK(run_together(programs));
  CHECK(run_together(overlapped));
  CHECK(run_together(at_once));
  return programs;
}

}  // namespace ashlar_test
