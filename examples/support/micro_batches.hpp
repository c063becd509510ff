// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Lists the numbers of micro-batches that a search for pipelines tries.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace example {

/// Returns the numbers of micro-batches into which the `batch` samples of a step can be cut: the
/// divisors of `batch` up to 4,096, largest first. If `fixed` is not 0, returns only `fixed`.
inline std::vector<int> micro_batch_counts(std::int64_t batch, int fixed) {
  if (fixed != 0) return {fixed};
  std::vector<int> list;
  for (std::int64_t m = std::min<std::int64_t>(batch, 4096); m >= 1; --m)
    if (batch % m == 0) list.push_back(static_cast<int>(m));
  return list;
}

}  // namespace example
