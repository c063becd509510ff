// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What passes share. A pass takes a program that `check` accepts to another one that does the same:
//
//   take the releases out, put the actions into another order, drop or replace moves and values
//   finish_pass     numbers what is left anew, places the releases, and keeps the program as it was,
//                   with a reason, where the new one would hold more memory than the limit allows
//
// The values, and so the bits, of a step are the same before and after every pass.

#include <ashlar/step/high_water.hpp>
#include <ashlar/step/release.hpp>
#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

/// What a pass made. `applied`: whether the program is another one; else `reason` says why not.
struct pass_result {
  program made;
  bool applied = false;
  char const* reason = "";
};

namespace step_detail {

/// Actions but for releases.
constexpr std::vector<action> unreleased(std::vector<action> actions) {
  std::erase_if(actions, [](action const& a) { return a.kind == action_kind::release; });
  return actions;
}

/// The program without moves that never begin and values that nobody makes, numbered anew.
constexpr program compacted(program const& from) {
  std::vector<int> value_number(from.values.size(), -1), move_number(from.moves.size(), -1);
  for (auto const& a : from.actions) {
    if (a.kind == action_kind::begin_move) move_number[static_cast<std::size_t>(a.move)] = 0;
    for (int const v : a.makes) value_number[static_cast<std::size_t>(v)] = 0;
    for (int const v : a.reads) value_number[static_cast<std::size_t>(v)] = 0;
  }
  program made = from;
  made.values.clear();
  made.moves.clear();
  for (std::size_t v = 0; v < from.values.size(); ++v)
    if (value_number[v] == 0 || from.values[v].is_given()) {
      value_number[v] = static_cast<int>(made.values.size());
      made.values.push_back(from.values[v]);
    }
  auto const renumber = [&](int& v) { v = value_number[static_cast<std::size_t>(v)]; };
  for (std::size_t k = 0; k < from.moves.size(); ++k)
    if (move_number[k] == 0) {
      move_number[k] = static_cast<int>(made.moves.size());
      made.moves.push_back(from.moves[k]);
      renumber(made.moves.back().from);
      renumber(made.moves.back().to);
    }
  for (auto& a : made.actions) {
    if (a.move >= 0) a.move = move_number[static_cast<std::size_t>(a.move)];
    for (auto* list : {&a.reads, &a.makes, &a.adds})
      for (int& v : *list) renumber(v);
  }
  return made;
}

/// The result of a pass that puts `actions`, without releases, in place of those of `before`.
constexpr pass_result finish_pass(program const& before, program changed, std::int64_t limit) {
  program made = with_releases(compacted(changed));
  if (made == before) return {before, false, "there is nothing to change"};
  if (limit > 0 && high_water(made).peak > limit)
    return {before, false, "it would hold more memory than the limit allows"};
  return {made, true, ""};
}

}  // namespace step_detail

}  // namespace step
}  // namespace ashlar::search
