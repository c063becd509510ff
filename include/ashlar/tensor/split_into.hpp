// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// split_into<d>(x, {4, 4, 2}): the parts of x along dim d, of these sizes, in order. It is the reverse of
// concat (concat.hpp), and each part is a slice (slice.hpp): placed as x, with nothing moved, and
// refused where elements would have to move between ranks. Parts along dim 0 share the shard of x.

#include <vector>

#include <ashlar/tensor/slice.hpp>

namespace ashlar {

/// Returns the parts of x along dim Dim. Communicates nothing. Throws ashlar::error if the sizes do not
/// add up to the extent of the dim, or as slice does.
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
