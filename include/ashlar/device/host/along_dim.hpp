// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Loops along the middle dim of an array x [outer, extent, inner], whose lines are x[o, .., i].
//
//   index_of_extremum   y[o, i] = the first k at which x[o, k, i] is the largest or the smallest
//                       element of its line; the first NaN if there is one
//   cumulative_sum      y[o, k, i] = x[o, 0, i] + .. + x[o, k, i], added in this order in
//                       accumulation_t<T>, and each sum rounded to T once; or the sums from the
//                       last element of the line to element k
//
// Integer sums wrap around. The kernels of a device are in device/cuda/kernel/along_dim.hpp.

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::device::host {

/// Returns whether `next` is more extreme than `best`: larger if Op is max, smaller if it is min. A
/// NaN is more extreme than any number, and nothing is more extreme than a NaN.
template <reduction Op, class A>
ASHLAR_HD constexpr bool is_more_extreme(A next, A best) {
  if (Op == reduction::max ? next > best : next < best) return true;
  return next != next && best == best;
}

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
        if (is_more_extreme<Op>(next, best)) y[i] = static_cast<Index>(k);
      }
  }
}

/// Writes the cumulative sums of each line to y, which has the extents of x and may be x. The sums
/// begin with the first element of the line, or with the last one if `from_end`. `sums` is a
/// workspace of `inner` elements.
template <class T>
void cumulative_sum(T const* x, std::int64_t outer, std::int64_t extent, std::int64_t inner,
                    bool from_end, accumulation_t<T>* sums, T* y) {
  using A = accumulation_t<T>;
  for (std::int64_t o = 0; o < outer; ++o, x += extent * inner, y += extent * inner) {
    std::fill_n(sums, inner, A(0));
    for (std::int64_t k = 0; k < extent; ++k) {
      std::int64_t const first = (from_end ? extent - 1 - k : k) * inner;
      for (std::int64_t i = 0; i < inner; ++i) {
        sums[i] = combine<reduction::sum>(sums[i], static_cast<A>(x[first + i]));
        y[first + i] = static_cast<T>(sums[i]);
      }
    }
  }
}

}  // namespace ashlar::device::host
