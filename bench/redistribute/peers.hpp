// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The redistributions of bench/redistribute by other libraries. Each function returns a contestant
// (a program to be measured). The libraries can redistribute a matrix if every rank has exactly one
// block of the matrix before and after the redistribution. In all other cases, or if CMake did not
// find the library, the functions return no contestant.
//
//   ScaLAPACK   pdgemr2d between two BLACS grids. ScaLAPACK's matrices are column-major, so our
//               rows are ScaLAPACK's columns.
//   COSTA       costa::transform between two grid layouts of row-major blocks

#include <vector>

#include <ashlar/tensor.hpp>

#include "../support/trials.hpp"

namespace ashlar_bench {

/// A matrix divided into rows x columns blocks of equal size, one for each rank.
struct block_grid {
  /// row_begins holds the first row of each row of blocks, followed by the number of rows of the
  /// matrix. column_begins holds the same for columns.
  std::vector<int> row_begins, column_begins;
  std::vector<int> owners;  ///< the ranks that own the blocks, in row-major order
  int rows() const { return static_cast<int>(row_begins.size()) - 1; }
  int columns() const { return static_cast<int>(column_begins.size()) - 1; }
};

/// Returns the grid of blocks of a placement. The grid has no rows if the tensor is not a matrix or
/// if its shards are replicated, partial or of different sizes.
block_grid grid_of(ashlar::topology const& t, ashlar::shape const& extents,
                   ashlar::placement const& p);

/// Returns a program to be measured, which redistributes a tensor from the placement `from` to `to`
/// with ScaLAPACK or with COSTA. Returns an empty list if this library is missing, or if one of the
/// placements has no block_grid. `input` is this rank's shard before the redistribution. Its
/// elements must be total(i, 1) of values.hpp, because the result is compared with these values.
std::vector<contestant> scalapack_copy(ashlar::mesh const& m, ashlar::shape const& extents,
                                       ashlar::placement const& from, ashlar::placement const& to,
                                       double const* input);
std::vector<contestant> costa_transform(ashlar::mesh const& m, ashlar::shape const& extents,
                                        ashlar::placement const& from, ashlar::placement const& to,
                                        double const* input);

}  // namespace ashlar_bench
