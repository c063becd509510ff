// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The lines of a tensor along one dim: each line has the elements whose indices differ only in this
// dim. A reduction along the dim makes one element of each line, as do argmax and argmin. A
// cumulative sum adds up along each line.

#include <cstdint>

#include <ashlar/tensor/tensor.hpp>

namespace ashlar::detail {

/// The extents of a shard as an array [outer, extent, inner]: `extent` is that of dim `dim`, and
/// `outer` and `inner` are the products of the extents before and after this dim.
struct lines {
  std::int64_t outer = 1, extent = 1, inner = 1;

  lines(shape const& shard, int dim) : extent(shard[dim]) {
    for (int d = 0; d < shard.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : shard[d];
  }
};

/// Returns the extents without those of the dims d for which bit d of `dims` is set.
constexpr shape without_dims(shape const& extents, unsigned dims) {
  shape left;
  for (int d = 0; d < extents.rank(); ++d)
    if ((dims >> d & 1u) == 0) left.extent.push_back(extents[d]);
  return left;
}

}  // namespace ashlar::detail
