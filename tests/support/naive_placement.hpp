// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A second, naive definition of placements, against which the library is tested. It uses only the
// library's type of a placement, not the library's layouts. It defines:
//
// - which indices a rank holds
// - how a tensor is divided into the shards of the ranks
// - whether given shards form a given tensor
//
// Partial tensors are divided into different addends of both signs.

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <support/dense.hpp>

#include <ashlar/mesh/topology.hpp>
#include <ashlar/placement/placement.hpp>

namespace ashlar_test {

using ashlar::axis_placement;
using ashlar::placement;
using ashlar::reduction;

inline std::vector<reduction> const all_reductions{reduction::sum, reduction::max, reduction::min};

/// Returns whether both placements split the same dimensions along the same axes, in the same
/// order. An axis on which one placement is partial may be replicated in the other placement.
inline bool same_splits(placement const& p, placement const& q) {
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_split() != q[a].is_split() || (p[a].is_split() && !(p[a] == q[a]))) return false;
  return true;
}

/// A mesh, given by the extents of its axes. Ranks are numbered in row-major order: the coordinate
/// on the last axis varies fastest.
struct naive_mesh {
  index extents;

  naive_mesh(std::initializer_list<int> list) : extents(list) {}
  explicit naive_mesh(ashlar::topology const& t) {
    for (auto const& a : t.axis) extents.push_back(a.extent);
  }
  int axes() const { return static_cast<int>(extents.size()); }
  int ranks() const {
    return std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>());
  }
  std::vector<index> all_coordinates() const {
    std::vector<index> all;
    for_each_index(extents, [&](index const& c) { all.push_back(c); });
    return all;
  }
  int rank_of(index const& c) const {
    int rank = 0;
    for (std::size_t a = 0; a < extents.size(); ++a) rank = rank * extents[a] + c[a];
    return rank;
  }
};

/// Splits `items` into `parts` parts of consecutive items, and returns part number `part`. The
/// sizes of parts differ by at most one. The first parts are the larger ones.
inline std::vector<int> dealt(std::vector<int> const& items, int parts, int part) {
  std::vector<int> sizes(static_cast<std::size_t>(parts), 0);
  for (std::size_t i = 0; i < items.size(); ++i) ++sizes[i % sizes.size()];
  auto const begin = std::accumulate(sizes.begin(), sizes.begin() + part, 0);
  return {items.begin() + begin, items.begin() + begin + sizes[static_cast<std::size_t>(part)]};
}

/// Returns the indices along dimension `dim`, of extent n, that the rank at coordinates c holds.
inline std::vector<int> held(int n, placement const& p, int dim, naive_mesh const& mesh,
                             index const& c) {
  std::vector<int> items(static_cast<std::size_t>(n));
  std::iota(items.begin(), items.end(), 0);
  for (int depth = 0; depth < mesh.axes(); ++depth)
    for (int a = 0; a < mesh.axes(); ++a)
      if (p[a].is_split_of(dim) && p[a].depth == depth)
        items = dealt(items, mesh.extents[static_cast<std::size_t>(a)],
                      c[static_cast<std::size_t>(a)]);
  for (int a = 0; a < mesh.axes(); ++a)
    if (p[a].is_owned() && p[a].owner != c[static_cast<std::size_t>(a)]) items.clear();
  return items;
}

inline std::vector<std::vector<int>> held(index const& extents, placement const& p,
                                          naive_mesh const& mesh, index const& c) {
  std::vector<std::vector<int>> all;
  for (std::size_t d = 0; d < extents.size(); ++d)
    all.push_back(held(extents[d], p, static_cast<int>(d), mesh, c));
  return all;
}

/// Returns the part of x at the given indices of each dimension.
inline dense cut(dense const& x, std::vector<std::vector<int>> const& items) {
  index extents;
  for (auto const& list : items) extents.push_back(static_cast<int>(list.size()));
  dense part(extents);
  for_each_index(extents, [&](index const& i) {
    index global(i.size());
    for (std::size_t d = 0; d < i.size(); ++d) global[d] = items[d][static_cast<std::size_t>(i[d])];
    part(i) = x(global);
  });
  return part;
}

/// Returns c with 0 on all axes that are not partial. This identifies an addend of a partial
/// tensor: ranks with equal results hold parts of the same addend.
inline index addend_of(placement const& p, index c) {
  for (std::size_t a = 0; a < c.size(); ++a)
    if (!p[static_cast<int>(a)].is_partial()) c[a] = 0;
  return c;
}

inline double combine(reduction op, double a, double b) {
  return op == reduction::sum ? a + b : op == reduction::max ? std::max(a, b) : std::min(a, b);
}

/// Returns the addends of x under the placement p, by their coordinates (addend_of). Each addend is
/// a full tensor, and the reduction of all addends is x.
inline std::map<index, dense> addends(dense const& x, placement const& p, naive_mesh const& mesh,
                                      std::mt19937& random) {
  std::map<index, dense> parts;
  for (auto const& c : mesh.all_coordinates()) parts.emplace(addend_of(p, c), x);
  if (parts.size() == 1) return parts;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    int const last = uniform(random, 0, static_cast<int>(parts.size()) - 1);
    double rest = x.values[i];
    int n = 0;
    for (auto& [key, part] : parts) {
      if (n++ == last) continue;
      int const amount = uniform(random, 1, 9);
      if (p.op() == reduction::sum) {
        part.values[i] = uniform(random, 0, 1) ? amount : -amount;
        rest -= part.values[i];
      } else {
        part.values[i] += p.op() == reduction::max ? -amount : amount;
      }
    }
    if (p.op() == reduction::sum) std::next(parts.begin(), last)->second.values[i] = rest;
  }
  return parts;
}

/// Returns the shard of each rank if x has placement p.
inline std::vector<dense> place(dense const& x, placement const& p, naive_mesh const& mesh,
                                std::mt19937& random) {
  auto const parts = addends(x, p, mesh, random);
  std::vector<dense> local;
  for (auto const& c : mesh.all_coordinates())
    local.push_back(cut(parts.at(addend_of(p, c)), held(x.extents, p, mesh, c)));
  return local;
}

/// Returns whether these shards, one for each rank, form x with placement p: the shapes of the
/// shards must fit, copies must be equal, and addends must reduce to x.
inline bool is_placed(std::vector<dense> const& local, dense const& x, placement const& p,
                      naive_mesh const& mesh, double tolerance) {
  auto const all = mesh.all_coordinates();
  std::map<index, dense> reduced;  // key: coordinates, 0 along partial axes
  for (std::size_t r = 0; r < all.size(); ++r) {
    index original = all[r];
    for (int a = 0; a < mesh.axes(); ++a)
      if (p[a].is_broadcast()) original[static_cast<std::size_t>(a)] = 0;
    auto const& first = local[static_cast<std::size_t>(mesh.rank_of(original))];
    if (local[r].extents != cut(x, held(x.extents, p, mesh, all[r])).extents) return false;
    for (std::size_t i = 0; i < first.values.size(); ++i)
      if (!close(local[r].values[i], first.values[i], tolerance)) return false;
    index group = all[r];
    for (int a = 0; a < mesh.axes(); ++a)
      if (p[a].is_partial()) group[static_cast<std::size_t>(a)] = 0;
    auto const [it, fresh] = reduced.emplace(group, local[r]);
    for (std::size_t i = 0; !fresh && i < it->second.values.size(); ++i)
      it->second.values[i] = combine(p.op(), it->second.values[i], local[r].values[i]);
  }
  for (auto const& [c, piece] : reduced) {
    auto const truth = cut(x, held(x.extents, p, mesh, c));
    for (std::size_t i = 0; i < truth.values.size(); ++i)
      if (!close(piece.values[i], truth.values[i], tolerance)) return false;
  }
  return true;
}

/// Returns every valid placement of a tensor of `rank` dimensions on `axes` mesh axes, found by
/// trying all combinations. `partials` lists the allowed kinds of partial placements, and `owners`
/// the ranks that may own a tensor along an axis; both may be empty.
inline std::vector<placement>
all_placements(int rank, int axes, std::vector<reduction> const& partials = {reduction::sum},
               std::vector<int> const& owners = {}) {
  std::vector<axis_placement> roles{ashlar::broadcast()};
  for (int d = 0; d < rank; ++d)
    for (int depth = 0; depth < axes; ++depth) roles.push_back(ashlar::split(d, depth));
  for (auto op : partials) roles.push_back(ashlar::partial(op));
  for (int k : owners) roles.push_back(ashlar::owned(k));
  std::vector<placement> all;
  for_each_index(index(static_cast<std::size_t>(axes), static_cast<int>(roles.size())),
                 [&](index const& choice) {
                   placement p;
                   for (int role : choice) p.axis.push_back(roles[static_cast<std::size_t>(role)]);
                   if (ashlar::check(p, rank, axes) == nullptr) all.push_back(p);
                 });
  return all;
}

}  // namespace ashlar_test
