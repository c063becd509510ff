// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Interleaved 1F1B (Narayanan et al. 2021): each part holds v stages (chunks). Compared with 1F1B,
// the number of transfers is multiplied by v. If all stages are equal and transfers take no time,
// the time in which a part waits is divided by v. Micro-batches go in groups of s through the first
// chunk of all s positions, then through the second chunk, and so on. Position j runs
// 2 (s - j - 1) + (v - 1) s + 1 forward passes ahead and then alternates backward and forward
// passes.

#include <algorithm>
#include <string>

#include <ashlar/step/pipeline/schedule.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::pipelines {

/// Returns the interleaved schedule. Throws ashlar::error unless there is a position, and the
/// number of micro-batches is a multiple of the number of positions.
constexpr schedule interleaved(int positions, int micro_batches, int chunks) {
  if (positions < 1 || micro_batches % positions != 0)
    throw error("pipelines::interleaved",
                std::to_string(micro_batches) + " micro-batches cannot go in groups of " +
                    std::to_string(positions) +
                    ", one for each position. Choose a multiple, or another schedule.");
  schedule s{positions, micro_batches, chunks, wiring::straight, {}};
  int const passes = micro_batches * chunks;
  // Returns the k-th forward pass, or the k-th backward pass, of every position.
  auto const nth = [&](pass what, int k) {
    int const group = positions * chunks, chunk = k % group / positions;
    return action{what, k / group * positions + k % positions,
                  what == pass::forward ? chunk : chunks - 1 - chunk};
  };
  for (int j = 0; j < positions; ++j) {
    int const ahead = std::min(passes, 2 * (positions - j - 1) + (chunks - 1) * positions + 1);
    std::vector<action> own;
    for (int k = 0; k < ahead; ++k) own.push_back(nth(pass::forward, k));
    for (int k = 0; k < passes; ++k) {
      own.push_back(nth(pass::backward, k));
      if (ahead + k < passes) own.push_back(nth(pass::forward, ahead + k));
    }
    s.order.push_back(static_cast<std::vector<action>&&>(own));
  }
  return s;
}

}  // namespace ashlar::pipelines
