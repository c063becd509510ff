// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory of the fullest rank over a program.
//
//   for the whole step   values that last, optimizer states and rounded copies (program::resident)
//   made .. released     every other value but statistics
//   while it computes    workspace and received halos
//   while it moves       the larger one of the two ends, with its buffers (memory.hpp); from then on both
//                        ends until they are released
//
// A slice of a program is two numbers: by how much it changes what is held, and the most that it holds
// above what was held before it. Slices one after the other compose.
//
// In serial order this is what plans predict (memory_fold.hpp); passes that reorder a program change it.

#include <ashlar/step/memory.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

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

/// Bytes of a value that count.
constexpr std::int64_t counted_bytes(value const& v) {
  return v.kind == value_kind::statistic || v.kind == value_kind::reduced ? 0 : v.bytes;
}

/// What one action does to the memory.
constexpr memory_change memory_of(program const& p, action const& a) {
  std::int64_t made = 0;
  for (int const v : a.makes) made += counted_bytes(p.value_of(v));
  switch (a.kind) {
    case action_kind::begin_move:
    case action_kind::end_move: {
      auto const& m = p.move_of(a);
      if (m.what == moved::statistic) return {};
      std::int64_t const moving = moving_bytes(p.value_of(m.from).bytes, p.value_of(m.to).bytes,
                                               p.mesh.ranks());
      if (a.kind == action_kind::begin_move) return {moving, moving};
      return {made - moving, made > moving ? made - moving : 0};
    }
    case action_kind::release:
      for (int const v : a.reads) made -= counted_bytes(p.value_of(v));
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

}  // namespace step
}  // namespace ashlar::search
