// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// When cutting a range out of a dim, or joining tensors along one, moves nothing. The placement
// stays, and each rank's part of the result must come out of its own shard:
//
//   slices_locally        begin + (its part of the result)  is in  its part of the operand
//   concatenates_locally  the same for each operand's range of the result
//
// Both always hold where no axis splits the dim, and seldom elsewhere, since the balanced split of
// another extent cuts at other places: a range within one rank's rows that only it is left with,
// a range of all rows, operands of which all but one are empty.

#include <span>

#include <ashlar/layout/layout.hpp>

namespace ashlar {
namespace detail {

/// What the rank at `c` holds of dim `dim` if that has n indices.
constexpr interval part_of_dim(std::int64_t n, int dim, topology const& t, placement const& p,
                               coordinates const& c) {
  shape other;  // dims are cut independently of one another
  other.extent.resize(max_rank);
  other[dim] = n;
  return local_box(other, t, p, c)[dim];
}

}  // namespace detail

/// Whether [begin, begin + size) of dim `dim`, of n indices, needs nothing of another rank.
constexpr bool slices_locally(std::int64_t n, int dim, std::int64_t begin, std::int64_t size,
                              topology const& t, placement const& p) {
  axis_list const axes = p.axes_of(dim);
  for (int i = t.group_size(axes) - 1; i >= 0; --i) {
    coordinates const c = t.member({}, axes, i);
    interval part = detail::part_of_dim(size, dim, t, p, c);
    part.begin += begin;
    if (!contains(detail::part_of_dim(n, dim, t, p, c), part)) return false;
  }
  return true;
}

/// Whether tensors of these sizes along dim `dim`, joined along it, need nothing of another rank.
constexpr bool concatenates_locally(std::span<std::int64_t const> sizes, int dim, topology const& t,
                                    placement const& p) {
  std::int64_t total = 0;
  for (auto const n : sizes) total += n;
  axis_list const axes = p.axes_of(dim);
  for (int i = t.group_size(axes) - 1; i >= 0; --i) {
    coordinates const c = t.member({}, axes, i);
    interval const part = detail::part_of_dim(total, dim, t, p, c);
    std::int64_t begin = 0;
    for (auto const n : sizes) {
      interval held = detail::part_of_dim(n, dim, t, p, c);
      held.begin += begin;
      if (!contains(held, intersect(part, {begin, n}))) return false;
      begin += n;
    }
  }
  return true;
}

}  // namespace ashlar
