// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Schedules for tests of the programs of a pipeline's parts, and a run of all parts side by side in
// which every transfer waits for its other end.

#include <map>
#include <vector>

#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>
#include <ashlar/step/program.hpp>

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

/// Runs the programs of all parts side by side. A crossing ends as soon as both of its ends have
/// begun, and its two ends have the same bytes. Returns whether all programs come to their ends.
inline bool run_together(std::vector<search::program> const& parts) {
  std::vector<std::size_t> at(parts.size(), 0);
  std::map<int, int> begun;  // by number: how many ends have begun
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

}  // namespace ashlar_test
