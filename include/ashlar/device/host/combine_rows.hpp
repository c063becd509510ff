// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Combines the rows of an array: sums, maxima or minima of its columns.
//
// One running sum of a long column would lose every addend that is small beside it: in float, a sum
// of ones stops at 2^24. So at most combined_at_once rows are combined at a time, and then these
// results are combined, both in the order of the rows. The kernels of a device do the same
// (device/cuda/kernel/fold_lines.hpp).

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/placement/identity.hpp>

namespace ashlar::device::host {

/// Combines each column of x [rows, cols] with the element of `target` [cols] of this column. First
/// converts the elements of x to A.
template <reduction Op, class A, class T>
void combine_rows(T const* x, std::int64_t rows, std::int64_t cols, A* target) {
  auto const add = [](auto const* from, std::int64_t count, A* to) {
    ASHLAR_VECTORIZE
    for (std::int64_t i = 0; i < count; ++i) to[i] = combine<Op>(to[i], static_cast<A>(from[i]));
  };
  if (rows <= combined_at_once) {
    for (std::int64_t r = 0; r < rows; ++r) add(x + r * cols, cols, target);
    return;
  }
  constexpr std::int64_t most = 256;  // columns, whose results are kept on the stack
  A part[most];
  for (std::int64_t r = 0; r < rows; r += combined_at_once)
    for (std::int64_t c = 0; c < cols; c += most) {
      std::int64_t const count = std::min(most, cols - c);
      std::fill_n(part, count, identity_of<A>(Op));
      for (std::int64_t k = r; k < std::min(r + combined_at_once, rows); ++k)
        add(x + k * cols + c, count, part);
      add(part, count, target + c);
    }
}

}  // namespace ashlar::device::host
