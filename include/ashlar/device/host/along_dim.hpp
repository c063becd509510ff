// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Loops along the middle dim of an array x [outer, extent, inner], whose lines are x[o, .., i].
//
//   index_of_extremum   y[o, i] = the first k at which x[o, k, i] is the largest or the smallest
//                       element of its line; the first NaN if there is one
//   cumulative_sum      y[o, k, i] = x[o, 0, i] + .. + x[o, k, i], added in this order in
//                       accumulation_t<T>, and each sum rounded to T once
//
// Both loops visit k in ascending order. Integer sums wrap around.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/combine.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::device::host {

/// Writes to y [outer, inner] the index k of the extremum of each line. Op is max or min. A line
/// must have at least one element, so this function expects extent > 0, unless there are no lines
/// (outer * inner is 0).
template <reduction Op, class T, class Index>
void index_of_extremum(T const* x, std::int64_t outer, std::int64_t extent, std::int64_t inner,
                       Index* y) {
  using A = accumulation_t<T>;
  for (std::int64_t o = 0; o < outer; ++o, x += extent * inner, y += inner) {
    std::fill_n(y, inner, Index(0));
    for (std::int64_t k = 1; k < extent; ++k)
      for (std::int64_t i = 0; i < inner; ++i) {
        auto const best = static_cast<A>(x[static_cast<std::int64_t>(y[i]) * inner + i]);
        auto const next = static_cast<A>(x[k * inner + i]);
        // A NaN replaces a number, and nothing replaces a NaN.
        bool const better = Op == reduction::max ? next > best : next < best;
        if (better || (next != next && best == best)) y[i] = static_cast<Index>(k);
      }
  }
}

/// Writes the cumulative sums of each line to y, which has the extents of x and may be x. `sums` is
/// a workspace of `inner` elements.
template <class T>
void cumulative_sum(T const* x, std::int64_t outer, std::int64_t extent, std::int64_t inner,
                    accumulation_t<T>* sums, T* y) {
  using A = accumulation_t<T>;
  for (std::int64_t o = 0; o < outer; ++o) {
    std::fill_n(sums, inner, A(0));
    for (std::int64_t k = 0; k < extent; ++k, x += inner, y += inner)
      for (std::int64_t i = 0; i < inner; ++i) {
        sums[i] = combine<reduction::sum>(sums[i], static_cast<A>(x[i]));
        y[i] = static_cast<T>(sums[i]);
      }
  }
}

}  // namespace ashlar::device::host
