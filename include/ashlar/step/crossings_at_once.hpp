// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A program of a pipeline's part in which no send or receive goes on while the part computes: each
// ends right after it has begun. All parts do this in the common order of passes and transfers
// (build_stage.hpp), so they never wait for each other in a circle.

#include <vector>

#include <ashlar/step/release.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns the program with every crossing ended at once.
constexpr program with_crossings_at_once(program p) {
  std::vector<action> ends(p.crossings.size()), ordered;
  for (auto const& a : p.actions)
    if (a.kind == action_kind::end_send || a.kind == action_kind::end_receive)
      ends.data()[a.crossing] = a;
  for (auto const& a : p.actions) {
    if (a.kind == action_kind::end_send || a.kind == action_kind::end_receive) continue;
    ordered.push_back(a);
    if (a.kind == action_kind::begin_send || a.kind == action_kind::begin_receive)
      ordered.push_back(ends.data()[a.crossing]);
  }
  p.actions = static_cast<std::vector<action>&&>(ordered);
  return with_releases(p);
}

}  // namespace step
}  // namespace ashlar::search
