// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Other libraries that can do the same redistribution, if every rank holds exactly one block of a
// matrix before and after it. Each function returns no contestant for other cases, or if CMake did
// not find the library.
//
//   ScaLAPACK   pdgemr2d between two BLACS grids. It is column-major: our rows are its columns.
//   COSTA       costa::transform between two grid layouts of row-major blocks, as ours are

#include <vector>

#include <ashlar/tensor.hpp>

#include "../support/trials.hpp"

namespace ashlar_bench {

/// A matrix divided into rows x columns blocks of equal size, one for each rank.
struct block_grid {
  std::vector<int> row_begins, column_begins;  ///< with the extents as last entries
  std::vector<int> owners;                     ///< the rank that owns block (i, j), in row-major
                                               ///< order
  int rows() const { return static_cast<int>(row_begins.size()) - 1; }
  int columns() const { return static_cast<int>(column_begins.size()) - 1; }
};

/// Returns the grid of a placement. The grid has no rows if blocks are replicated, partial or
/// unequal.
block_grid grid_of(ashlar::topology const& t, ashlar::shape const& extents,
                   ashlar::placement const& p);

/// `input` is this rank's shard of `from`. The results must be the totals of one addend
/// (values.hpp).
std::vector<contestant> scalapack_copy(ashlar::mesh const& m, ashlar::shape const& extents,
                                       ashlar::placement const& from, ashlar::placement const& to,
                                       double const* input);
std::vector<contestant> costa_transform(ashlar::mesh const& m, ashlar::shape const& extents,
                                        ashlar::placement const& from, ashlar::placement const& to,
                                        double const* input);

}  // namespace ashlar_bench
