// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Other libraries that can make the same move: matrices of which every rank holds one block before
// and after. Each returns no contestant where the case is none of that kind, or where CMake did not
// find the library.
//
//   ScaLAPACK   pdgemr2d between two BLACS grids. It stores by columns: our rows are its columns.
//   COSTA       costa::transform between two grid layouts, row-major blocks as ours

#include <vector>

#include <ashlar/ashlar.hpp>

#include "../support/trials.hpp"

namespace ashlar_bench {

/// A matrix cut into rows x columns equal blocks, one a rank.
struct block_grid {
  std::vector<int> row_begins, column_begins;  ///< with the extents as last entries
  std::vector<int> owners;                     ///< of block (i, j), row-major
  int rows() const { return static_cast<int>(row_begins.size()) - 1; }
  int columns() const { return static_cast<int>(column_begins.size()) - 1; }
};

/// The grid of a placement; no rows where blocks are replicated, partial or unequal.
block_grid grid_of(ashlar::topology const& t, ashlar::shape const& extents,
                   ashlar::placement const& p);

/// `input` is this rank's shard of `from`; results are checked against totals of 1 addend.
std::vector<contestant> scalapack_copy(ashlar::mesh const& m, ashlar::shape const& extents,
                                       ashlar::placement const& from, ashlar::placement const& to,
                                       double const* input);
std::vector<contestant> costa_transform(ashlar::mesh const& m, ashlar::shape const& extents,
                                        ashlar::placement const& from, ashlar::placement const& to,
                                        double const* input);

}  // namespace ashlar_bench
