// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the ways to place one element of which only the multiset of rows is known. A multiset says
// how many interchangeable axes have each row. A way to place it says which axes have which row
// (`from`), and how shards nest (`order`). It depends on the placements of the earlier elements:
//
//   from     A permutation of interchangeable axes: axis a gets the roles of axis from[a]. Axes
//            with equal roles are not permuted. The first element of a chain uses the identity.
//   order    The order in which the shards of different axes nest. First come the axes that split
//            the same dim of x as of the previous element's y, in the order in which they nest
//            there. The other axes follow, nested further inside, in any order. If two axes next to
//            each other in the order never split the same dim of a tensor, they must ascend,
//            because exchanging them gives the same placements.
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

namespace ashlar::search::detail {

/// One way to place choice `choice` of an element.
struct axis_assignment {
  int agreement;  ///< grows with the number of roles that the earlier elements have too
  int choice;
  axis_order order, from;  ///< the arguments of reordered()
};

/// The earlier placements that matter for the next element.
struct placed_before {
  layer_choice neighbour;
  layer_choice around;  ///< the begin of the enclosing residual; if there is none, the neighbour
  axis_order order;     ///< the order in which the neighbour's shards nest
};

class axis_assignments {
 public:
  /// `before` is null for the first element. Both arguments must outlive this object.
  axis_assignments(topology const& t, placed_before const* before) : mesh_(t), before_(before) {}

  /// Adds the ways to place multiset c, which is choice k of its element. Calls worthwhile(choice)
  /// for each permutation, with the shards of `choice` nested in the mesh's own order. If it
  /// returns false, leaves out the permutation.
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

  /// Returns all ways that were added, those of best agreement with the neighbour and the residual
  /// first.
  std::vector<axis_assignment> best_first() && {
    std::stable_sort(list_.begin(), list_.end(),
                     [](axis_assignment const& a, axis_assignment const& b) {
                       return a.agreement > b.agreement;
                     });
    return std::move(list_);
  }

 private:
  struct two_orders {
    axis_order kept, free;
  };

  /// Returns in `kept` the axes that split the same dim of x as of the neighbour's y, in the
  /// neighbour's order, and in `free` all other axes.
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

  /// Returns whether every axis gets the roles of an interchangeable axis, and axes with equal
  /// roles are not permuted among themselves.
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
      good = good && visit(p.use) && visit(p.grad) && visit(p.store);
    for (auto const& s : c.statistics) good = good && visit(s.from) && visit(s.to);
    return good;
  }

  static bool equal_roles(layer_choice const& c, int a, int b) {
    return all_of_placements(c, [&](placement const& p) { return same_role(p[a], p[b]); });
  }

  /// Returns whether any two axes next to each other in the order, from position `first` on, either
  /// ascend or split the same dim of a tensor. For every other order, there is an order of this
  /// kind that gives the same placements.
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

/// Computes lower bounds of the cost of redistributions from roles alone (plan/role_distances.hpp),
/// and caches them.
class least_moves {
 public:
  /// Both arguments must outlive this object.
  least_moves(topology const& t, machine const& m) : mesh_(t), machine_(m) {}

  /// Returns a lower bound of the seconds of the move between any two placements that have the
  /// roles of `from` and `to`, whatever their shard orders.
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
      // Distances contain tie weights. The factor makes them a lower bound of the seconds again.
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
  std::map<std::array<std::uint64_t, 3>, double> known_;  ///< per table and pair of placements
};

}  // namespace ashlar::search::detail
