// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computes how many elements a rank receives in a step of a redistribution, independently of the
// library. They are counted in a replay of the step (support/replay.hpp). If the step reduces, the
// documented formulas of the bandwidth-optimal algorithms are used instead.

#include <support/replay.hpp>

namespace ashlar_test {

/// Returns the number of elements that the rank at coordinates c receives in step s. `m` is what
/// the replay of the step reported for this rank.
inline std::int64_t received_in(ashlar::redistribution_step const& s, naive_mesh const& mesh,
                                index const& c, replay::moved const& m) {
  using ashlar::collective;
  if (s.kind != collective::all_reduce && s.kind != collective::reduce_scatter) return m.elements;
  std::int64_t p = 1, position = 0;
  for (auto a : s.axes) {
    p *= mesh.extents[static_cast<std::size_t>(a)];
    position = position * mesh.extents[static_cast<std::size_t>(a)] +
               c[static_cast<std::size_t>(a)];
  }
  if (s.kind == collective::reduce_scatter) return (p - 1) * m.held_after;
  std::int64_t const block = m.held_before / p + (position < m.held_before % p ? 1 : 0);
  return (p - 1) * block + (m.held_before - block);
}

}  // namespace ashlar_test
