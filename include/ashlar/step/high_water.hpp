// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The high-water mark of a program: its peak memory, on the rank that needs most.
//
//   time                     bytes that count
//   the whole step           values that outlast it, and program::resident: optimizer states,
//                            parameter copies in the element type, errors of wires, and kept
//                            delayed gradients
//   from making to release   every other value except statistics. A received value counts from the
//                            begin of its receive. A renewed parameter takes the place of the
//                            stored one, and so counts only until its redistribution has ended
//   during a computation     workspace
//   during an exchange of    its buffers
//   halos or of rows
//   during a redistribution  the larger of its source and its result, with buffers (memory.hpp);
//                            afterwards both until they are released
//
// Two numbers describe the effect of a part of a program on memory: the net change of the bytes in
// use, and the peak of the bytes in use relative to the beginning of the part. If two parts follow
// each other, memory_change::then computes the numbers of both together from the numbers of each.
//
// For a program in serial order, the high-water mark equals the memory that the search predicts for
// its plan (memory_fold.hpp). Passes that reorder a program change it.

#include <ashlar/step/memory.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

/// The effect of consecutive actions on memory, in bytes.
struct memory_change {
  std::int64_t net = 0;   ///< bytes in use afterwards minus bytes in use before
  std::int64_t peak = 0;  ///< peak of the bytes in use minus bytes in use before, at least 0

  /// Returns the effect of these actions followed by the actions of `next`.
  constexpr memory_change then(memory_change const& next) const {
    return {net + next.net, peak > net + next.peak ? peak : net + next.peak};
  }
  friend constexpr bool operator==(memory_change const&, memory_change const&) = default;
};

/// Returns the bytes of a value. A statistic, and a parameter that replaces the stored one, count
/// as 0.
constexpr std::int64_t counted_bytes(value const& v) {
  bool const is_free = v.kind == value_kind::statistic || v.kind == value_kind::reduced ||
                       v.kind == value_kind::renewed;
  return is_free ? 0 : v.bytes;
}

/// Returns the effect of one action on memory.
constexpr memory_change memory_of(program const& p, action const& a) {
  std::int64_t made = 0;
  for (int const v : a.makes) made += counted_bytes(p.value_of(v));
  switch (a.kind) {
    case action_kind::begin_move:
    case action_kind::end_move: {
      auto const& m = p.move_of(a);
      if (m.what == moved::statistic) return {};
      auto const& path = p.path_of(m);
      std::int64_t const moving = path.wire.is_exact()
                                      ? moving_bytes(p.value_of(m.from).bytes,
                                                     p.value_of(m.to).bytes, p.mesh.ranks())
                                      : encoded_moving_bytes(path, p.mesh);
      if (a.kind == action_kind::begin_move) return {moving, moving};
      return {made - moving, made > moving ? made - moving : 0};
    }
    case action_kind::begin_receive: {
      auto const bytes = p.value_of(p.crossing_of(a).value).bytes;
      return {bytes, bytes};
    }
    case action_kind::end_receive: return {};
    case action_kind::release:
      for (int const v : a.reads) made -= counted_bytes(p.value_of(v));
      return {made, 0};
    default: return {made, made + a.workspace};
  }
}

struct high_water_mark {
  std::int64_t peak = 0;  ///< the most bytes that are in use at a time
  int fullest = 0;        ///< index of the first action at which the peak is reached
};

/// Returns the bytes that are in use both before and after the step.
constexpr std::int64_t lasting_bytes(program const& p) {
  std::int64_t bytes = p.resident;
  for (auto const& v : p.values)
    if (v.lasts()) bytes += v.bytes;
  return bytes;
}

/// Returns the peak memory of a program.
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
