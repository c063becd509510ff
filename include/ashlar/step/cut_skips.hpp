// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the skips (problem.hpp) that a cut of a chain into pipeline stages divides. The input of
// such a skip goes directly from the stage of its begin to the stage of its end, past all stages
// between, and its gradient goes back. If both stages are on one part of the mesh, nothing is sent.

#include <vector>

#include <ashlar/step/pipeline_part.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::search {
inline namespace step {

/// A skip with its begin and its end, which are elements of the chain, on different stages.
struct cut_skip {
  int begin = 0, end = 0;
  int from = 0, to = 0;  ///< the stages of the begin and of the end
};

/// Returns the skips whose ends are on different stages, in the order of their begins. Stage s has
/// the elements limits[s] .. limits[s + 1] - 1.
template <int N>
constexpr std::vector<cut_skip> cut_skips(basic_problem<N> const& net,
                                          std::vector<int> const& limits) {
  std::vector<cut_skip> list;
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].kind != element_kind::residual_begin) continue;
    int const from = stage_of_element(limits, i), to = stage_of_element(limits, net[i].partner);
    if (from != to) list.push_back({i, net[i].partner, from, to});
  }
  return list;
}

}  // namespace step
}  // namespace ashlar::search
