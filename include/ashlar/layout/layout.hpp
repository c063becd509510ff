// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes from shape, topology and placement which box of a tensor's index space a rank holds.
//
//   local_box(shape, topology, placement, c)   the box of the rank at coordinates c
//   empty_box(rank)                            the box of a rank outside of the tensor's mesh
//
// In a dim that is split, the box is the rank's interval of the nested balanced split (split.hpp).
// In any other dim it is the full range. A partial axis does not change the box: every rank along
// it holds an addend for each element of the box. The rank with coordinate 0 along every axis
// always has the largest box. The cost model relies on this.

#include <ashlar/layout/shape.hpp>
#include <ashlar/layout/split.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar {

/// An axis-aligned box of a tensor's index space. In a box of a routed tensor (shape.hpp), only the
/// share chosen / experts of the indices counts as elements, or more (routed_elements).
struct box {
  inplace_vector<interval, max_rank> dim;
  int chosen = 0;  ///< 0: not of a routed tensor
  int fullest = evenly_full;
  std::int64_t experts = 0;

  constexpr int rank() const { return dim.size(); }
  constexpr interval const& operator[](int d) const { return dim[d]; }

  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
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

/// Returns the box of a rank outside of the tensor's mesh, which holds nothing.
constexpr box empty_box(int rank) {
  box b;
  b.dim.resize(rank);
  for (int d = 0; d < rank; ++d) b.dim[d] = {0, 0};
  return b;
}

/// Returns the box of the rank at coordinates `c`. Expects a valid placement (`check` returns
/// null).
constexpr box local_box(shape const& s, topology const& t, placement const& p,
                        coordinates const& c) {
  box b;
  b.dim.resize(s.rank());
  for (int d = 0; d < s.rank(); ++d) b.dim[d] = {0, s[d]};
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

/// Returns the largest number of elements that any rank holds.
constexpr std::int64_t max_local_elements(shape const& s, topology const& t, placement const& p) {
  return local_box(s, t, p, coordinates{}).elements();
}

/// Returns whether the rank at coordinates `c` represents its replicas. A rank does so if it has
/// coordinate 0 along every axis on which the tensor is replicated. A sum over such ranks counts
/// each element once.
constexpr bool is_representative(placement const& p, coordinates const& c) {
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_broadcast() && c[static_cast<std::size_t>(a)] != 0) return false;
  return true;
}

}  // namespace ashlar
