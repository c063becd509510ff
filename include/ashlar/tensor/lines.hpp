// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The lines of a tensor along one dim: reductions and searches along a dim make one element of each
// line, and cumulative sums go along it.

#include <cstdint>

#include <ashlar/tensor/tensor.hpp>

namespace ashlar::detail {

/// The extents of a shard as an array [outer, extent, inner]: `extent` is that of dim `dim`, and
/// `outer` and `inner` are the products of the extents before and after this dim.
struct lines {
  std::int64_t outer = 1, extent = 1, inner = 1;

  template <distributed X>
  lines(X const& x, int dim) : extent(x.local_size(dim)) {
    for (int d = 0; d < X::rank; ++d) (d < dim ? outer : inner) *= d == dim ? 1 : x.local_size(d);
  }
};

/// Returns the extents without that of dim `dim`.
constexpr shape without_dim(shape const& extents, int dim) {
  shape left;
  for (int d = 0; d < extents.rank(); ++d)
    if (d != dim) left.extent.push_back(extents[d]);
  return left;
}

}  // namespace ashlar::detail
