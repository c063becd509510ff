// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says which part of a tensor x each rank owns and which part it reads, for a convolution or a
// pooling whose window slides along a split dim of x. The result y has one index per position of
// the window, and the same mesh axes split x and y in this dim. The halo of a rank is the part of x
// that the rank needs for its shard of y but that other ranks own.
//
//   own_range, own_box    what a rank owns of x: its part of the balanced split
//   read_range, read_box  the indices of x that the windows of a rank cover, including the halo.
//                         Indices that the rank owns but that none of its windows covers are left
//                         out.
//
// Forward, a rank receives the elements of its read_box that it does not own. Backward, the
// gradients move the other way: a rank receives an addend from each other rank that read elements
// of its own_box. tensor/halo.hpp runs the exchange, and step/halo.hpp prices it.
//
// All ranges are computed from the balanced splits of x and y. So unequal and empty shards, shards
// thinner than a halo, strides and padding need no special cases.

#include <ashlar/layout/layout.hpp>
#include <ashlar/layout/sliding_window.hpp>

namespace ashlar {

/// Returns the range of a dim of extent n that belongs to the rank at position `at`. `axes` are the
/// mesh axes that split the dim, outermost first. The position of a rank is the row-major index of
/// its coordinates along these axes.
constexpr interval split_part(std::int64_t n, topology const& t, axis_list const& axes, int at) {
  interval part{0, n};
  int below = 1;
  for (auto const a : axes) below *= t.extent(a);
  for (auto const a : axes) {
    below /= t.extent(a);
    part = balanced_part(part, t.extent(a), at / below % t.extent(a));
  }
  return part;
}

struct halo_layout {
  shape extents;  ///< the extents of x, and of its gradient
  placement at;   ///< the placement of x, and of its gradient
  int dim = -1;   ///< the dim along which the window slides
  sliding_window window;
  std::int64_t places = 0;  ///< the number of positions of the window: the extent of y in this dim
  axis_list axes;           ///< mesh axes that split the dim, outermost first; empty without a halo

  /// Returns whether a rank may read elements that it does not own.
  constexpr bool has_halo() const { return !axes.empty(); }
  constexpr interval own_range(topology const& t, int member) const {
    return split_part(extents[dim], t, axes, member);
  }
  constexpr interval read_range(topology const& t, int member) const {
    return window.covered(split_part(places, t, axes, member), extents[dim]);
  }
  /// Returns the box of x that the rank at coordinates `c` owns.
  constexpr box own_box(topology const& t, coordinates const& c) const {
    return local_box(extents, t, at, c);
  }
  /// Returns the box of x that the rank at coordinates `c` reads, including its halo.
  constexpr box read_box(topology const& t, coordinates const& c) const {
    box b = own_box(t, c);
    if (has_halo()) b.dim[dim] = read_range(t, t.index_in_group(c, axes));
    return b;
  }
  /// Returns the number of elements of the largest read_box. Expects has_halo().
  constexpr std::int64_t most_read(topology const& t) const {
    std::int64_t most = 0;
    for (int k = 0; k < t.group_size(axes); ++k) {
      auto const size = read_range(t, k).size;
      most = size > most ? size : most;
    }
    return most * across(local_box(extents, t, at, {}));
  }
  /// Returns the number of elements that the rank at coordinates `c` receives from other ranks:
  /// elements of x or, if `back` is true, addends of the gradient of x.
  constexpr std::int64_t received(topology const& t, coordinates const& c, bool back) const {
    int const here = t.index_in_group(c, axes);
    std::int64_t indices = 0;
    for (int k = 0; k < t.group_size(axes); ++k)
      if (k != here)
        indices += (back ? intersect(read_range(t, k), own_range(t, here))
                         : intersect(read_range(t, here), own_range(t, k)))
                       .size;
    return indices * across(own_box(t, c));
  }
  friend constexpr bool operator==(halo_layout const&, halo_layout const&) = default;

 private:
  /// Returns how many elements of box b have the same index in dim `dim`: the product of its
  /// extents in the other dims.
  constexpr std::int64_t across(box const& b) const {
    std::int64_t elements = 1;
    for (int d = 0; d < b.rank(); ++d)
      if (d != dim) elements *= b[d].size;
    return elements;
  }
};

}  // namespace ashlar
