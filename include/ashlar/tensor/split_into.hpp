// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// split_into<d>(x, {4, 4, 2}) cuts x along dim d into parts of these sizes, in order. It is the
// inverse of concat (concat.hpp). Each part is a slice (slice.hpp): it has the placement of x, and
// nothing moves between ranks. If elements would have to move, split_into throws an error. Parts
// along dim 0 share the shard of x.

#include <vector>

#include <ashlar/tensor/slice.hpp>

namespace ashlar {

/// Returns the parts of x along dim Dim, which have the given sizes. Communicates nothing. Throws
/// ashlar::error if a size is negative, if the sizes do not add up to the extent of the dim, or if
/// elements would have to move between ranks.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X>
std::vector<X> split_into(X const& x, std::vector<std::int64_t> const& sizes) {
  std::int64_t total = 0;
  bool fits = true;
  for (auto const size : sizes) fits = fits && size >= 0, total += size;
  if (!fits || total != x.extents()[Dim])
    throw error("split_into", "the sizes are negative, or do not add up to the extent of dim " +
                                  std::to_string(Dim) + " of " + describe(x) + ".");
  std::vector<X> parts;
  std::int64_t begin = 0;
  for (auto const size : sizes) {
    parts.push_back(slice<Dim>(x, begin, size));
    begin += size;
  }
  return parts;
}
template <int Dim, distributed X>
ill_formed split_into(X const&, std::vector<std::int64_t> const&) {
  static_assert(detail::always_false<X>, "split_into: " ASHLAR_SAYS_NO_DIMENSION);
  return {};
}

}  // namespace ashlar
