// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Places the release actions of a program, which free the memory of values. A value is released
// right after the last action that reads it, adds to it or makes it. A redistribution reads its
// source until its end_move. Passes that reorder actions call with_releases again.
//
// Three kinds of values are never released: values that outlast the step, values that replace
// stored parameters, and the gradients of parameters, which stay readable until the next step
// begins.

#include <vector>

#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns whether a program must release this value before the step ends.
constexpr bool is_released(value const& v) {
  return !v.lasts() && v.kind != value_kind::gradient && v.kind != value_kind::renewed;
}

/// Returns the program with releases in the right places. Its old releases are removed.
constexpr program with_releases(program const& from) {
  std::vector<int> last(from.values.size(), -1);
  std::vector<action> actions;
  for (auto const& a : from.actions) {
    if (a.kind == action_kind::release) continue;
    int const at = static_cast<int>(actions.size());
    auto const touch = [&](int v) { last[static_cast<std::size_t>(v)] = at; };
    for (int const v : a.reads) touch(v);
    for (int const v : a.makes) touch(v);
    for (int const v : a.adds) touch(v);
    if (a.kind == action_kind::end_move) touch(from.move_of(a).from);
    actions.push_back(a);
  }
  std::vector<value_list> released(actions.size());
  for (std::size_t v = 0; v < last.size(); ++v)
    if (last[v] >= 0 && is_released(from.values[v])) {
      auto& list = released[static_cast<std::size_t>(last[v])];
      list.push_back(static_cast<int>(v));
    }
  program made = from;
  made.actions.clear();
  for (std::size_t i = 0; i < actions.size(); ++i) {
    made.actions.push_back(actions[i]);
    if (released[i].empty()) continue;
    action r;
    r.kind = action_kind::release;
    r.phase = actions[i].phase;
    r.element = actions[i].element;
    r.micro_batch = actions[i].micro_batch;
    r.reads = released[i];
    made.actions.push_back(r);
  }
  return made;
}

}  // namespace step
}  // namespace ashlar::search
