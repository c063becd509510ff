// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the exact optimum on meshes of many axes, among all choices of choices.hpp. Listing all
// choices in all shard orders would be too expensive. So the search first ignores shard order: a
// choice is then one signature row per mesh axis. On k axes, a layer then has up to k! times fewer
// choices. There are three steps:
//
//   1. a lower bound   The optimum if shard order is ignored. Redistributions are priced by the
//                      lower bounds of role_moves.hpp. bounded_choices.hpp drops most choices.
//   2. a plan          The choices of that optimum, with shards nested in the order of the mesh
//                      axes. If this plan costs more than the bound, chain_solver finds the best
//                      shard orders for the same choices. If the resulting plan still costs more
//                      than the bound, chain_solver searches all choices that bounded_choices.hpp
//                      has left, in all shard orders. This last search is skipped if there are
//                      more than 3,000 pairs of such a choice and a shard order.
//   3. the proof       If the plan costs as much as the bound, it is optimal. Otherwise,
//                      row_bounds.hpp finds all choices that may be part of a plan that is at
//                      least as cheap. chain_solver then finds the optimum over these choices in
//                      all shard orders.
//
// The result is always the optimum, to one part in 1e9.

#include <ashlar/search/bounded_choices.hpp>
#include <ashlar/search/branch_limits.hpp>
#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/reordered.hpp>
#include <ashlar/search/role_moves.hpp>
#include <ashlar/search/row_bounds.hpp>

namespace ashlar::search {
namespace detail {

/// A filter that permits selected choices for chain_model. The choices come from a model that
/// ignores shard order. Each choice is permitted in all shard orders.
template <int N>
class ordered_choices {
 public:
  /// Permits choice number c of class k (a set of equal layers) of `model` if `kept(k, c)` is true.
  template <class Kept>
  constexpr ordered_choices(chain_model<N, role_moves> const& model, Kept const& kept)
      : model_(model), of_class_(static_cast<std::size_t>(model.classes())) {
    for (int k = 0; k < model.classes(); ++k)
      for (int c = 0; c < model.class_at(k).size(); ++c)
        if (kept(k, c)) add(model.class_at(k).choices.data()[c], of_class_.data()[k]);
  }

  /// Returns the permitted choices of element i of the chain, without duplicates. The shard orders
  /// of one choice follow each other, beginning with the order of the mesh axes.
  constexpr std::vector<layer_choice> const& choices(int i) const {
    return of_class_.data()[model_.class_index(i)];
  }

 private:
  static constexpr void add(layer_choice const& canonical, std::vector<layer_choice>& list) {
    auto const begin = static_cast<std::ptrdiff_t>(list.size());
    axis_order order = all_axes(canonical.x.axes());
    do {
      layer_choice const nested = reordered(canonical, order);
      if (std::find(list.begin() + begin, list.end(), nested) == list.end()) list.push_back(nested);
    } while (next_order(order));
  }

  chain_model<N, role_moves> const& model_;
  scratch<std::vector<layer_choice>> of_class_;
};

}  // namespace detail

/// Finds the optimal plan on one mesh. The constructor computes a lower bound that ignores shard
/// order. plan() finds the plan.
template <int N>
class search_by_roles {
 public:
  /// `chain` must outlive this object.
  constexpr search_by_roles(basic_problem<N> const& chain, topology const& t, machine const& m)
      : search_by_roles(chain, chain, t, m) {}

  /// `less` is the same chain without the signature rows that the lower bound does not need
  /// (needed_rows.hpp). `less` must outlive this object, too.
  constexpr search_by_roles(basic_problem<N> const& chain, basic_problem<N> const& less,
                            topology const& t, machine const& m)
      : net_(chain), mesh_(t), machine_(m), rows_(less, t, m, any_choice{}, pruning::by_time) {
    detail::demand_no_branches(chain, "search::optimal_by_roles");
    bounded_choices<N, role_moves> bounds(rows_);
    bounds.restrict();
    bound_ = find_path();
    bounds.narrow(bound_);
    find_path();
  }

  /// Returns a lower bound of the seconds of every plan. It may be too large by at most one part in
  /// 1e9, because a tiny tie-breaking weight is added per collective.
  constexpr double bound() const { return bound_; }

  /// Returns the plan of least predicted seconds. Its memory is not limited.
  constexpr basic_plan<N> plan() {
    double const good = bound_ * (1 + 1e-10);
    planned_moves moves(mesh_, machine_);
    auto best = make_plan(net_, moves, net_.recomputed, [&](int i) -> layer_choice const& {
      return rows_.choices(i).choices.data()[path_.data()[i]];
    });
    if (best.seconds <= good) return best;
    double weight = 0;
    best = solve(of_path(), weight);
    if (best.seconds <= good) return best;
    if (ordered_rows() <= most_ordered) {
      best = solve(detail::ordered_choices<N>(rows_, [](int, int) { return true; }), weight);
      if (best.seconds <= good) return best;
    }
    chain_model<N, role_moves> all(net_, mesh_, machine_, any_choice{}, pruning::keep_all);
    row_bounds<N> const bounds(all, net_, mesh_, machine_, weight);
    return solve(detail::ordered_choices<N>(
                     all, [&](int k, int c) { return bounds.keep(k).data()[c] != 0; }),
                 weight);
  }

 private:
  /// plan() searches the remaining choices in all shard orders only if there are at most this many
  /// pairs of a choice and a shard order. Searching that many takes a few hundredths of a second.
  static constexpr std::int64_t most_ordered = 3000;

  constexpr double find_path() {
    chain_solver<N, role_moves> solver(rows_);
    path_ = solver.path();
    return solver.weight_of(path_);
  }

  /// Returns an upper bound of the number of choices of `rows_` in all shard orders.
  constexpr std::int64_t ordered_rows() const {
    std::int64_t count = 0;
    for (int k = 0; k < rows_.classes(); ++k) count += rows_.class_at(k).size();
    for (int a = 2; a <= mesh_.axes(); ++a) count *= a;
    return count;
  }

  /// Returns the choices on the optimal path `path_` (one choice per element, without shard order),
  /// each in all shard orders. Equal layers share a list.
  constexpr detail::ordered_choices<N> of_path() const {
    scratch<scratch<char>> used(static_cast<std::size_t>(rows_.classes()));
    for (int k = 0; k < rows_.classes(); ++k)
      used.data()[k] = scratch<char>(rows_.class_at(k).weight.size());
    for (int i = 0; i < net_.size(); ++i)
      used.data()[rows_.class_index(i)].data()[path_.data()[i]] = 1;
    return {rows_, [&](int k, int c) { return used.data()[k].data()[c] != 0; }};
  }

  constexpr basic_plan<N> solve(detail::ordered_choices<N> const& orders, double& weight) const {
    chain_model<N> ordered(net_, mesh_, machine_, orders, pruning::by_time);
    chain_solver<N> solver(ordered);
    auto const path = solver.path();
    weight = solver.weight_of(path);
    return make_plan(ordered, path);
  }

  basic_problem<N> const& net_;
  topology mesh_;
  machine machine_;
  chain_model<N, role_moves> rows_;  ///< a model whose choices ignore shard order
  scratch<int> path_;  ///< per element: the index of its choice in the optimum of `rows_`
  double bound_ = 0;
};

/// Returns the plan of least predicted seconds. Its memory is not limited. Throws ashlar::error if
/// the net has branches.
template <int N>
constexpr basic_plan<N> optimal_by_roles(basic_problem<N> const& net, topology const& t,
                                         machine const& m) {
  return search_by_roles<N>(net, t, m).plan();
}

}  // namespace ashlar::search
