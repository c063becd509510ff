// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides when a slice of a dim, or a concatenation of tensors along a dim, needs no communication.
// The placement stays the same, so each rank must find its part of the result in its own shards:
//
//   slices_locally        true if each rank holds those indices of the operand that make up its
//                         part of the result
//   concatenates_locally  true if each rank holds those indices of every operand that make up its
//                         part of the result
//
// Both conditions hold whenever no axis splits the dim. With a split dim they seldom hold, because
// a balanced split of a different extent cuts at different positions. Some cases in which they hold
// nevertheless are:
//
// - a slice of the full range
// - a slice whose indices all belong to one rank, in the operand and in the result
// - a concatenation in which all operands but one are empty

#include <span>

#include <ashlar/layout/layout.hpp>

namespace ashlar {
namespace detail {

/// Returns the indices of dim `dim` that the rank at coordinates `c` holds if the dim has extent n.
constexpr interval part_of_dim(std::int64_t n, int dim, topology const& t, placement const& p,
                               coordinates const& c) {
  // Dims are split independently of one another, so the extents of the other dims do not matter.
  shape other;
  other.extent.resize(max_rank);
  other[dim] = n;
  return local_box(other, t, p, c)[dim];
}

}  // namespace detail

/// Returns whether slicing [begin, begin + size) out of dim `dim`, which has extent n, needs no
/// data from other ranks. Operand and result have placement p.
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

/// Returns whether concatenating tensors of these sizes along dim `dim` needs no data from other
/// ranks. Operands and result have placement p.
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
