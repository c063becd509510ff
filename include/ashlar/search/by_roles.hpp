// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The optimum on meshes of many axes, exactly, in the whole space of choices.hpp:
//
//   1. a lower bound   the optimum where the order of shards does not count: choices are rows per
//                      axis, moves the distances of role_moves.hpp. Of a layer on k axes there are
//                      up to k! times fewer choices, and bounded_choices.hpp leaves few of them
//   2. a plan          the rows found, shards nested in the order of the mesh's axes; if that costs
//                      more than the bound, in the best orders (chain_solver on those alone); if
//                      that does, all rows that may be part of a plan that costs the bound
//   3. the proof       its cost is the bound: no plan of any rows or orders costs less; or else the
//                      optimum of all rows that may be part of a plan between the bound and that
//                      cost (row_bounds.hpp), in all orders
//
// The answer is always the optimum, to one part in 1e9.

#include <ashlar/search/bounded_choices.hpp>
#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/reordered.hpp>
#include <ashlar/search/role_moves.hpp>
#include <ashlar/search/row_bounds.hpp>

namespace ashlar::search {
namespace detail {

/// Choices without order, in all orders.
template <int N>
class ordered_choices {
 public:
  /// `kept(k, choice)`: whether a choice of the model's class k is one of them.
  template <class Kept>
  constexpr ordered_choices(chain_model<N, role_moves> const& model, Kept const& kept)
      : model_(model), of_class_(static_cast<std::size_t>(model.classes())) {
    for (int k = 0; k < model.classes(); ++k)
      for (int c = 0; c < model.class_at(k).size(); ++c)
        if (kept(k, c)) add(model.class_at(k).choices.data()[c], of_class_.data()[k]);
  }

  /// The choices of element i, each once; those in the mesh's own order come first.
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

/// The search on one mesh: its bound at once, its plan when it is asked for.
template <int N>
class search_by_roles {
 public:
  /// `chain` has to outlive this.
  constexpr search_by_roles(basic_problem<N> const& chain, topology const& t, machine const& m)
      : search_by_roles(chain, chain, t, m) {}

  /// `less`: the chain without rows that no bound needs (needed_rows.hpp); has to outlive this too.
  constexpr search_by_roles(basic_problem<N> const& chain, basic_problem<N> const& less,
                            topology const& t, machine const& m)
      : net_(chain), mesh_(t), machine_(m), rows_(less, t, m, any_choice{}, pruning::by_time) {
    bounded_choices<N, role_moves> bounds(rows_);
    bounds.restrict();
    bound_ = find_path();
    bounds.narrow(bound_);
    find_path();
  }

  /// No plan takes less (but for a part in 1e9, which ties may weigh).
  constexpr double bound() const { return bound_; }

  /// The plan of least predicted seconds, whatever its memory.
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
    row_bounds<N> const near(all, net_, mesh_, machine_, weight);
    return solve(
        detail::ordered_choices<N>(all, [&](int k, int c) { return near.keep(k).data()[c] != 0; }),
        weight);
  }

 private:
  /// Choices that are searched in the hope of proving them: a few hundredths of a second.
  static constexpr std::int64_t most_ordered = 3000;

  constexpr double find_path() {
    chain_solver<N, role_moves> solver(rows_);
    path_ = solver.path();
    return solver.weight_of(path_);
  }

  /// How many choices the rows that are left make in all orders, at most.
  constexpr std::int64_t ordered_rows() const {
    std::int64_t count = 0;
    for (int k = 0; k < rows_.classes(); ++k) count += rows_.class_at(k).size();
    for (int a = 2; a <= mesh_.axes(); ++a) count *= a;
    return count;
  }

  /// Each class' rows of the path, in all orders.
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
  chain_model<N, role_moves> rows_;
  scratch<int> path_;
  double bound_ = 0;
};

/// The plan of least predicted seconds, whatever its memory.
template <int N>
constexpr basic_plan<N> optimal_by_roles(basic_problem<N> const& net, topology const& t,
                                         machine const& m) {
  return search_by_roles<N>(net, t, m).plan();
}

}  // namespace ashlar::search
