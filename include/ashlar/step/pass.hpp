// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The common functions of passes. A pass transforms a program that `check` accepts into another one
// that computes the same values, bit by bit:
//
//   1. The pass removes the releases, puts the actions into another order, and drops or replaces
//      redistributions and values.
//   2. finish_pass renumbers redistributions and values and inserts the releases. If the new
//      program would exceed the memory limit, finish_pass returns the original program and the
//      reason.

#include <ashlar/step/high_water.hpp>
#include <ashlar/step/release.hpp>
#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

/// The result of a pass. If the pass did not change the program, `reason` says why.
struct pass_result {
  program made;
  bool applied = false;
  char const* reason = "";
};

namespace step_detail {

/// Returns the actions without the releases.
constexpr std::vector<action> unreleased(std::vector<action> actions) {
  std::erase_if(actions, [](action const& a) { return a.kind == action_kind::release; });
  return actions;
}

/// Returns whether a move (a redistribution) is a gather: it moves a stored parameter to the
/// placement where a layer reads it, and communicates.
constexpr bool is_gather(program const& p, program_move const& m) {
  return m.what == moved::parameter && p.value_of(m.to).kind == value_kind::used &&
         !p.path_of(m).is_local();
}

/// Returns the program without redistributions that never begin and without values that no action
/// uses. Values that exist before the step stay. All that is left gets new numbers.
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
  for (auto& c : made.crossings) renumber(c.value);
  for (auto& a : made.actions) {
    if (a.move >= 0) a.move = move_number[static_cast<std::size_t>(a.move)];
    for (auto* list : {&a.reads, &a.makes, &a.adds})
      for (int& v : *list) renumber(v);
  }
  return made;
}

/// Ends a pass that has changed the program `before` into `changed`, whose actions contain no
/// releases: compacts `changed` and inserts the releases. `limit` is the most memory that a rank
/// may use, in bytes; 0 means no limit. If the new program would use more, or equals `before`, the
/// result has `before` and the reason.
constexpr pass_result finish_pass(program const& before, program changed, std::int64_t limit) {
  program made = with_releases(compacted(changed));
  if (made == before) return {before, false, "there is nothing to change"};
  if (limit > 0 && high_water(made).peak > limit)
    return {before, false, "it would need more memory than the limit allows"};
  return {made, true, ""};
}

}  // namespace step_detail

}  // namespace step
}  // namespace ashlar::search
