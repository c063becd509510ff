// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ashlar_bench {

/// Returns the number of rows of the grid of `ranks` ranks that is closest to a square. It has at
/// most as many rows as columns.
constexpr int grid_rows(int ranks) {
  int rows = 1;
  for (int r = 2; r * r <= ranks; ++r)
    if (ranks % r == 0) rows = r;
  return rows;
}

}  // namespace ashlar_bench
