// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the ways to place one element of a chain (a layer or residual block). Its choice comes from
// the multiset model (assign_axes.hpp). This choice says only how many of the interchangeable axes
// (equal extent and network tier) have each signature row. A way to place the element consists of
// this choice and two further decisions:
//
//   from     Which axes have which row. This is a permutation of interchangeable axes: axis a gets
//            the row of axis from[a]. Axes with equal rows are not permuted. The first element of
//            a chain uses the identity.
//   order    The order in which the shards of different axes nest, outermost first. An axis that
//            splits the same dim in this element's x and in the previous element's y is "kept".
//            Kept axes come first, in the order in which they nest in that y. All other axes
//            follow. Each of their orders is listed, with one exception: two adjacent axes that
//            never split the same dim of a tensor must ascend, because exchanging them would give
//            the same placements.
//
// assign_axes.hpp decides which of these ways is part of a good plan.

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <ashlar/placement/code.hpp>
#include <ashlar/plan/role_distances.hpp>
#include <ashlar/search/reordered.hpp>
#include <ashlar/support/stable_sorted.hpp>

namespace ashlar::search::detail {

/// A way to place one layer or residual block: its choice, the permutation of its axes and the
/// order in which its shards nest.
struct axis_assignment {
  int agreement;  ///< larger if more axes have the same placements as in earlier elements
  int choice;
  axis_order order, from;  ///< the arguments of reordered()
};

/// Placements of earlier layers, on which the ways to place the next element of the chain depend.
struct placed_before {
  layer_choice neighbour;  ///< the choice of the previous element
  /// The choice of the enclosing residual block. If there is none, the choice of the neighbour.
  layer_choice around;
  axis_order order;  ///< the order in which the neighbour's shards nest
};

class axis_assignments {
 public:
  /// `before` describes the previous element of the chain; null for the first one. Both arguments
  /// must outlive this object.
  axis_assignments(topology const& t, placed_before const* before) : mesh_(t), before_(before) {}

  /// Adds the ways to place choice k of a layer or residual block. The choice `c` determines only
  /// how many of the interchangeable axes have which row. Each permutation of these axes gives a
  /// placement, for which worthwhile(placement) is called. If this call returns false, the
  /// permutation is left out.
  template <class Worthwhile>
  void add(int k, layer_choice const& c, Worthwhile const& worthwhile) {
    axis_order const same = all_axes(mesh_.axes());
    axis_order from = same;
    do {
      if (!exchanges_alike(from, c)) continue;
      layer_choice const here = reordered(c, same, from);
      if (!worthwhile(here)) continue;
      int const agreement = agreement_with(here);
      auto const [kept, free] = axes_after(here);
      axis_order entering = free;
      do {
        axis_order order = kept;
        for (auto const a : entering) order.push_back(a);
        if (is_plain(order, kept.size(), here)) list_.push_back({agreement, k, order, from});
      } while (next_order(entering));
    } while (before_ != nullptr && next_order(from));
  }

  /// Returns all added ways to place the element, those that agree most with earlier elements
  /// first. Agreement grows with the number of axes on which the element has the same placements as
  /// the previous element and the enclosing residual block.
  std::vector<axis_assignment> best_first() && {
    return stable_sorted(std::move(list_), [](axis_assignment const& a, axis_assignment const& b) {
      return a.agreement > b.agreement;
    });
  }

 private:
  struct two_orders {
    axis_order kept, free;
  };

  /// Returns two lists of axes. `kept` are the axes that split the same dim in x as in the previous
  /// layer's y. They are listed in the order in which they nest in that y. `free` are all other
  /// axes.
  two_orders axes_after(layer_choice const& here) const {
    two_orders axes;
    if (before_ != nullptr)
      for (auto const a : before_->order)
        if (here.x[a].is_split() && same_role(before_->neighbour.y[a], here.x[a]))
          axes.kept.push_back(a);
    for (int a = 0; a < mesh_.axes(); ++a)
      if (std::find(axes.kept.begin(), axes.kept.end(), a) == axes.kept.end())
        axes.free.push_back(static_cast<signed char>(a));
    return axes;
  }

  int agreement_with(layer_choice const& here) const {
    int agreement = 0;
    for (int a = 0; a < mesh_.axes() && before_ != nullptr; ++a)
      agreement += 8 * (same_role(before_->neighbour.y[a], here.x[a]) +
                        same_role(before_->neighbour.dy[a], here.dx[a])) +
                   same_role(before_->around.x[a], here.y[a]);
    return agreement;
  }

  /// Returns whether the permutation `from` of mesh axes exchanges only interchangeable axes (of
  /// equal extent and network tier) and leaves axes with equal placements in their order. Without
  /// the second condition, the same placements would be listed twice.
  bool exchanges_alike(axis_order const& from, layer_choice const& c) const {
    for (int a = 0; a < mesh_.axes(); ++a) {
      if (!are_interchangeable(mesh_, a, from[a])) return false;
      for (int b = 0; b < a; ++b)
        if (from[b] > from[a] && are_interchangeable(mesh_, a, b) &&
            equal_roles(c, from[a], from[b]))
          return false;
    }
    return true;
  }

  template <class Visit>
  static bool all_of_placements(layer_choice const& c, Visit const& visit) {
    bool good = visit(c.x) && visit(c.y) && visit(c.dy) && visit(c.dx);
    for (auto const& p : c.parameters)
      good = good && visit(p.use) && visit(p.grad) && visit(p.store) && visit(p.updated_at());
    for (auto const& s : c.statistics) good = good && visit(s.from) && visit(s.to);
    return good;
  }

  static bool equal_roles(layer_choice const& c, int a, int b) {
    return all_of_placements(c, [&](placement const& p) { return same_role(p[a], p[b]); });
  }

  /// Several orders of the axes can give the same placements. Returns whether `order` is the
  /// canonical one of these orders: from position `first` on, every two axes that are adjacent in
  /// `order` either ascend or split the same dim of a tensor.
  static bool is_plain(axis_order const& order, int first, layer_choice const& c) {
    for (int i = first + 1; i < order.size(); ++i) {
      int const a = order[i - 1], b = order[i];
      if (a > b && all_of_placements(c, [&](placement const& p) {
            return !(p[a].is_split() && same_role(p[a], p[b]));
          }))
        return false;
    }
    return true;
  }

  topology const& mesh_;
  placed_before const* before_;
  std::vector<axis_assignment> list_;
};

/// Computes lower bounds of the cost of redistributions (plan/role_distances.hpp), and caches these
/// bounds. A bound holds for all shard orders.
class least_moves {
 public:
  /// Both arguments must outlive this object.
  least_moves(topology const& t, machine const& m) : mesh_(t), machine_(m) {}

  /// Returns a lower bound of the seconds of the redistribution from `from` to `to`. The bound
  /// holds for all shard orders of the two placements.
  double operator()(shape const& extents, int element_size, placement from, placement to) {
    sort_interchangeable_axes(mesh_, from, to);
    for (placement* p : {&from, &to})
      for (auto& a : p->axis) a.depth = 0;
    auto const id = table(extents, element_size);
    auto const [it, fresh] = known_.try_emplace({id, code_of(from), code_of(to)}, 0.0);
    if (fresh) {
      role_distances distances(mesh_, extents.rank(), tables_[id].prices);
      int const start = distances.state(axis_roles(from));
      distances.find(distances.state(axis_roles(to)), start);
      // Distances contain tie-breaking weights, which are less than one part in 1e9 of the seconds.
      // The factor makes the result a lower bound of the seconds alone.
      it->second = distances(start) * (1 - 1e-9);
    }
    return it->second;
  }

 private:
  struct price_table {
    shape extents;
    int element_size;
    step_prices prices;
  };

  std::size_t table(shape const& extents, int element_size) {
    std::size_t i = 0;
    while (i < tables_.size() &&
           !(tables_[i].element_size == element_size && tables_[i].extents == extents))
      ++i;
    if (i == tables_.size())
      tables_.push_back(
          {extents, element_size, step_prices(extents, element_size, mesh_, machine_)});
    return i;
  }

  topology const& mesh_;
  machine const& machine_;
  std::vector<price_table> tables_;
  /// The bounds, per table and pair of placements.
  std::map<std::array<std::uint64_t, 3>, double> known_;
};

}  // namespace ashlar::search::detail
