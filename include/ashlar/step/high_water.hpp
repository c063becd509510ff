// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory of the fullest rank over a program.
//
//   for the whole step   values that last, optimizer states and rounded copies (program::resident)
//   made .. released     every other value; the target of a move from its beginning on
//   while it computes    workspace and received halos
//   while it moves       buffers of its widest step (plan/packing.hpp), shards between its steps
//
// A slice of a program is two numbers: by how much it changes what is held, and the most that it holds
// above what was held before it. Slices one after the other compose.

#include <ashlar/plan/packing.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::search::inline step {

/// What a slice of a program does to the memory, in bytes.
struct memory_change {
  std::int64_t net = 0;   ///< held after the slice less held before it
  std::int64_t peak = 0;  ///< the most held in the slice less held before it, at least 0

  /// This slice and then another one.
  constexpr memory_change then(memory_change const& next) const {
    return {net + next.net, peak > net + next.peak ? peak : net + next.peak};
  }
  friend constexpr bool operator==(memory_change const&, memory_change const&) = default;
};

/// What a move holds besides its two ends while it is under way.
constexpr std::int64_t moving_bytes(redistribution_plan const& path, topology const& t) {
  std::int64_t most = 0;
  for (int k = 0; k < path.steps.size(); ++k) {
    auto const& s = path.steps[k];
    std::int64_t bytes = packing_bytes(s, path.extents, path.element_size, t);
    if (k > 0) bytes += max_local_elements(path.extents, t, s.from) * path.element_size;
    if (k + 1 < path.steps.size())
      bytes += max_local_elements(path.extents, t, s.to) * path.element_size;
    if (bytes > most) most = bytes;
  }
  return most;
}

/// What one action does to the memory.
constexpr memory_change memory_of(program const& p, action const& a) {
  std::int64_t made = 0;
  for (int const v : a.makes) made += p.value_of(v).bytes;
  switch (a.kind) {
    case action_kind::begin_move: {
      auto const& m = p.move_of(a);
      made = p.value_of(m.to).bytes + moving_bytes(p.path_of(m), p.mesh);
      return {made, made};
    }
    case action_kind::end_move: return {-moving_bytes(p.path_of(p.move_of(a)), p.mesh), 0};
    case action_kind::release:
      for (int const v : a.reads) made -= p.value_of(v).bytes;
      return {made, 0};
    default: return {made, made + a.workspace + a.halo_bytes};
  }
}

struct high_water_mark {
  std::int64_t peak = 0;  ///< bytes
  int fullest = 0;        ///< the first action that holds so many
};

/// Bytes that are there before the step and after it.
constexpr std::int64_t lasting_bytes(program const& p) {
  std::int64_t bytes = p.resident;
  for (auto const& v : p.values)
    if (v.lasts()) bytes += v.bytes;
  return bytes;
}

/// The most that a rank holds during a program.
constexpr high_water_mark high_water(program const& p) {
  std::int64_t held = lasting_bytes(p);
  high_water_mark mark{held, 0};
  for (std::size_t i = 0; i < p.actions.size(); ++i) {
    auto const change = memory_of(p, p.actions[i]);
    if (held + change.peak > mark.peak) mark = {held + change.peak, static_cast<int>(i)};
    held += change.net;
  }
  return mark;
}

}  // namespace ashlar::search::inline step
