// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes from shape, topology and placement which box of a tensor's index space a rank holds.
//
//   local_box(shape, topology, placement, c)   the box of the rank at coordinates c
//   empty_box(rank)                            an empty box with `rank` dims, for a process that is
//                                              not in the tensor's mesh, or that is not the owner
//                                              along an axis on which the tensor is owned
//   fullest_rank(placement)                    the coordinates of a rank with the largest box
//
// In a dim that is split, the box is the rank's interval of the nested balanced split (split.hpp).
// In any other dim, the box has the full range. A partial axis does not change the box: every rank
// along it holds an addend for each element of the box. One rank always has the largest box. Its
// coordinate along an axis on which the tensor is owned is that of the owner; along every other
// axis, its coordinate is 0. The cost model relies on this.

#include <ashlar/layout/shape.hpp>
#include <ashlar/layout/split.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar {

/// An axis-aligned box of a tensor's index space. A routed tensor (shape.hpp) stores only some of
/// its rows: for each token, the rows of `chosen` of the `experts` experts. So elements() counts
/// only the share chosen / experts of a box's indices, or more if `fullest` says that the routes
/// are distributed unevenly (routed_elements).
struct box {
  inplace_vector<interval, max_rank> dim;
  int chosen = 0;  ///< experts per token of a routed tensor, or 0 for a dense tensor
  int fullest = evenly_full;
  std::int64_t experts = 0;
  bool is_outside = false;  ///< for a box without dims: whether it has no element

  constexpr int rank() const { return dim.size(); }
  constexpr interval const& operator[](int d) const { return dim[d]; }

  constexpr std::int64_t elements() const {
    std::int64_t n = is_outside ? 0 : 1;
    for (int d = 0; d < dim.size(); ++d) n *= dim[d].size;
    return chosen == 0 ? n : routed_elements(n, chosen, fullest, dim[rank() - 2].size, experts);
  }
  constexpr shape extents() const {
    shape s;
    for (int d = 0; d < dim.size(); ++d) s.extent.push_back(dim[d].size);
    return s;
  }
  friend constexpr bool operator==(box const&, box const&) = default;
};

constexpr box intersect(box const& a, box const& b) {
  box c = a;
  for (int d = 0; d < a.rank(); ++d) c.dim[d] = intersect(a[d], b[d]);
  return c;
}

/// Returns an empty box with `rank` dims, for a process that holds nothing of a tensor.
constexpr box empty_box(int rank) {
  box b;
  b.dim.resize(rank);
  for (int d = 0; d < rank; ++d) b.dim[d] = {0, 0};
  b.is_outside = rank == 0;
  return b;
}

/// Returns the box of the rank at coordinates `c`. Expects a valid placement (`check` returns
/// null).
constexpr box local_box(shape const& s, topology const& t, placement const& p,
                        coordinates const& c) {
  box b = empty_box(s.rank());
  b.is_outside = false;
  bool holds = true;
  for (int a = 0; a < p.axes(); ++a)
    holds = holds && !(p[a].is_owned() && p[a].owner != c[static_cast<std::size_t>(a)]);
  for (int d = 0; d < s.rank() && holds; ++d) b.dim[d] = {0, s[d]};
  if (s.is_routed()) {
    b.chosen = s.chosen;
    b.fullest = s.fullest;
    b.experts = s.experts();
  }
  // One pass per depth, because outer axes must be applied before inner ones.
  for (int depth = 0; depth < p.axes(); ++depth)
    for (int a = 0; a < p.axes(); ++a)
      if (p[a].is_split() && p[a].depth == depth)
        b.dim[p[a].dim] = balanced_part(b.dim[p[a].dim], t.extent(a),
                                        c[static_cast<std::size_t>(a)]);
  return b;
}

/// Checks whether `p` is valid for a tensor with `rank` dims on mesh `t`. Returns null if it is,
/// otherwise an error message.
constexpr char const* check(placement const& p, int rank, topology const& t) {
  if (char const* const wrong = check(p, rank, t.axes())) return wrong;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_owned() && p[a].owner >= t.extent(a))
      return "an owner that the axis does not have. The ranks along an axis count from 0 to its "
             "extent - 1.";
  return nullptr;
}

/// Returns the coordinates of a rank that holds the largest shard.
constexpr coordinates fullest_rank(placement const& p) {
  coordinates c{};
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_owned()) c[static_cast<std::size_t>(a)] = p[a].owner;
  return c;
}

/// Returns the largest number of elements that any rank holds.
constexpr std::int64_t max_local_elements(shape const& s, topology const& t, placement const& p) {
  return local_box(s, t, p, fullest_rank(p)).elements();
}

/// Returns whether the rank at coordinates `c` represents all ranks that hold the same shard. Such
/// a rank has coordinate 0 along every axis on which the tensor is replicated (B). A sum over the
/// representatives counts each element once, or each addend of a partial tensor.
constexpr bool is_representative(placement const& p, coordinates const& c) {
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_broadcast() && c[static_cast<std::size_t>(a)] != 0) return false;
  return true;
}

}  // namespace ashlar
