// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Assigns signature rows to interchangeable mesh axes. A signature row says how a layer's tensors
// lie along one axis. Axes are interchangeable if they have equal extent and network tier. In the
// "multiset model" (a chain_model), a choice of an element says only how many of these axes have
// each row. The optimum of that model is a lower bound of the cost of every plan. This file looks
// for the cheapest plan: for each element it takes a choice of the model, and decides which of the
// axes have which row and in which order shards nest.
//
// The method is A* search with partial expansion:
//
//   partial plan   the placements of the first elements of the chain
//   promise        the cost of the partial plan plus the optimum of the multiset model for the
//                  remaining elements. No complete plan with this beginning costs less, so the
//                  heuristic is admissible
//   duplicates     partial plans that are equivalent for the remaining elements: the
//                  placements of the last element, and of the begins of the residual blocks around
//                  it, are equal up to an exchange of interchangeable axes. Only one of them is
//                  expanded
//
// axis_assignments.hpp lists the placements of the next element. A first search considers only
// partial plans whose promise equals the lower bound. If none of them can be completed, a second
// search considers all partial plans. Each search may examine `effort` partial plans. After that,
// the first search gives up, and the second one completes its best partial plan greedily.

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <ashlar/search/axis_assignments.hpp>
#include <ashlar/search/chain_solver.hpp>
#include <ashlar/search/role_moves.hpp>

namespace ashlar::search::detail {

template <int N>
class assign_axes {
 public:
  using model_type = chain_model<N, multiset_moves>;

  explicit assign_axes(model_type& model)
      : model_(model), net_(model.net()), mesh_(model.paths().mesh()), solver_(model),
        moves_(mesh_, model.paths().priced_on(),
               tie_weight(net_, mesh_, model.paths().priced_on())),
        crossed_(times_between(net_, forward_runs::once)), least_(mesh_, moves_.priced_on()),
        rest_(static_cast<std::size_t>(net_.size())) {
    int const last = net_.size() - 1;
    solver_.backward(0, last, scratch<double>(model.choices(last).weight.size()), rest_);
  }

  /// Returns a plan. `bound` is a lower bound of the plan's cost: the optimal cost if
  /// interchangeable axes are not distinguished. A first search looks for a plan that costs exactly
  /// `bound`. If there is none, a second search accepts plans of any cost. Each search may examine
  /// `effort` partial plans.
  basic_plan<N> plan(double bound, int effort = 50'000) {
    most_ = bound * (1 + 1e-11);
    int found = search(effort);
    if (found < 0) {
      most_ = unreachable;
      all_.clear();
      found = search(effort);
    }
    std::vector<layer_choice> chosen(static_cast<std::size_t>(net_.size()));
    for (int l = found; l >= 0; l = at(l).parent)
      chosen[static_cast<std::size_t>(at(l).element)] = placed(l);
    return make_plan(net_, moves_, net_.recomputed, [&](int i) -> layer_choice const& {
      return chosen[static_cast<std::size_t>(i)];
    });
  }

 private:
  struct partial_plan {
    double promise, cost;
    int element, choice;     ///< the last element, and its choice in the model
    axis_order order, from;  ///< how shards nest, and which axes have which rows (reordered.hpp)
    int parent;              ///< index of the partial plan without the last element, or -1
    /// Index in all_ of the partial plan whose last element is the begin of the enclosing residual
    /// block; -1 if there is no such block.
    int outer;
    /// The number of ways to place the next element that were already tried. It is reset to 0 when
    /// all ways were tried.
    int next;
  };

  partial_plan const& at(int l) const { return all_[static_cast<std::size_t>(l)]; }
  layer_choice const& multiset(int i, int k) const { return model_.choices(i).choices.data()[k]; }
  layer_choice placed(int l) const {
    return reordered(multiset(at(l).element, at(l).choice), at(l).order, at(l).from);
  }

  /// Returns the index in all_ of the best complete plan of weight at most `most_`, or -1 if there
  /// is none. If the effort is spent before such a plan is found, the result depends on `most_`.
  /// Below `unreachable`, the search returns -1. Otherwise it completes its best partial plan
  /// greedily.
  int search(int effort) {
    // `open` is a heap of partial plans. The first one has the lowest promise (a lower bound of the
    // complete plan's cost). Among equal promises, the longest plan comes first, then the newest.
    auto const worse = [this](int a, int b) {
      if (at(a).promise != at(b).promise) return at(a).promise > at(b).promise;
      return at(a).element != at(b).element ? at(a).element < at(b).element : a < b;
    };
    std::vector<int> open;
    std::set<std::vector<int>> seen;
    auto const push = [&](int l) {
      open.push_back(l);
      std::push_heap(open.begin(), open.end(), worse);
    };
    effort_ = effort;
    for (int best = -1;;) {
      if (effort_ < 0 && most_ < unreachable) return -1;
      if (effort_ < 0) open.clear(), seen.clear();  // continue greedily, without backtracking
      auto next = static_cast<int>(all_.size());
      expand(best);
      if (best >= 0 && at(best).next > 0) push(best);
      for (; next < static_cast<int>(all_.size()); ++next) push(next);
      for (bool fresh = false; !fresh;) {
        if (open.empty()) return -1;
        std::pop_heap(open.begin(), open.end(), worse);
        best = open.back();
        open.pop_back();
        fresh = at(best).next > 0 || seen.insert(look_of(best)).second;
      }
      if (at(best).element + 1 == net_.size()) return best;
    }
  }

  /// Extends partial plan l by one element of the chain and adds the extensions to all_. Stops
  /// after an extension whose promise (a lower bound of the complete plan's cost) is that of l. The
  /// next call for the same l continues there. If l is -1, adds all placements of the first
  /// element.
  void expand(int l) {
    int const i = l < 0 ? 0 : at(l).element + 1;
    int const outer = l < 0                                                        ? -1
                      : model_.kind(at(l).element) == element_kind::residual_begin ? l
                                                                                   : at(l).outer;
    layer_choice const before = l < 0 ? layer_choice{} : placed(l);
    if (model_.kind(i) == element_kind::residual_end) {
      partial_plan const begin = at(outer);
      add(l, before, i, placed(outer), {0, begin.choice, begin.order, begin.from}, begin.outer);
      return;
    }
    int const done = l < 0 ? 0 : at(l).next;
    auto const list = ways_after(l, i, before, outer);
    for (int n = done; n < static_cast<int>(list.size()); ++n) {
      axis_assignment const& it = list[static_cast<std::size_t>(n)];
      bool const equal = add(l, before, i, reordered(multiset(i, it.choice), it.order, it.from), it,
                             outer);
      if (!equal || l < 0 || n + 1 == static_cast<int>(list.size())) continue;
      all_[static_cast<std::size_t>(l)].next = n + 1;
      return;
    }
    if (l >= 0) all_[static_cast<std::size_t>(l)].next = 0;
  }

  /// Returns the ways to place element i of the chain after partial plan l. Those that agree most
  /// with earlier elements come first.
  std::vector<axis_assignment> ways_after(int l, int i, layer_choice const& before, int outer) {
    placed_before last;
    if (l >= 0) last = {before, outer < 0 ? before : placed(outer), at(l).order};
    axis_assignments ways(mesh_, l < 0 ? nullptr : &last);
    for (int k = 0; k < model_.choices(i).size(); ++k)
      ways.add(k, multiset(i, k), [&](layer_choice const& here) {
        return l < 0 || most_ >= unreachable ||
               at(l).cost + least_between(i - 1, before, here) +
                       model_.choices(i).weight.data()[k] + rest_of(i, k, outer) <=
                   most_;
      });
    return std::move(ways).best_first();
  }

  /// Extends partial plan `parent` (-1: the empty plan) by element i with placements `c`, unless
  /// the lower bound of the complete plan's cost (promise) exceeds most_. Returns true if the
  /// extension was added and has the same promise as `parent`.
  bool add(int parent, layer_choice const& before, int i, layer_choice const& c,
           axis_assignment const& it, int outer) {
    --effort_;
    double cost = parent < 0 ? times_from_source(net_) *
                                   moves_
                                       .move(net_.spec(0).x, net_.element_size,
                                             placement::all_broadcast(mesh_.axes()), c.x)
                                       .weight
                             : at(parent).cost;
    double const rest = rest_of(i, it.choice, outer);
    if (model_.kind(i) != element_kind::residual_end) cost += own(i, c);
    if (cost + rest > most_) return false;
    if (parent >= 0) {
      shape const& extents = boundary_extents(net_, i - 1);
      double const forth = moves_.move(extents, net_.element_size, before.y, c.x).weight;
      if (cost + crossed_(forth, 0) + rest > most_) return false;
      cost += crossed_(forth, moves_.move(extents, net_.element_size, c.dx, before.dy).weight);
    }
    double promise = cost + rest;
    if (promise > most_) return false;
    bool const equal = parent >= 0 && promise <= at(parent).promise * (1 + 1e-13);
    if (equal) promise = at(parent).promise;
    all_.push_back({promise, cost, i, it.choice, it.order, it.from, parent, outer, 0});
    return equal;
  }

  /// Returns a lower bound of the cost of the moves between elements i and i + 1 of the chain. The
  /// bound holds for all shard orders.
  double least_between(int i, layer_choice const& left, layer_choice const& right) {
    shape const& extents = boundary_extents(net_, i);
    return crossed_(least_(extents, net_.element_size, left.y, right.x),
                    least_(extents, net_.element_size, right.dx, left.dy));
  }

  /// Returns the weight of element i of the chain without moves between elements. For the begin of
  /// a residual block, returns the sum for its begin and its end.
  double own(int i, layer_choice const& c) {
    auto const weight = [&](int element) {
      return element_prices(net_, net_.spec(element), forward_runs::once, moves_).weight(c);
    };
    return model_.kind(i) == element_kind::residual_begin ? weight(i) + weight(model_.partner(i))
                                                          : weight(i);
  }

  /// Returns a lower bound of the weight of everything after element i if element i takes choice k.
  /// The bound is the least weight if axes of equal extent and network tier are not distinguished.
  /// `outer` is the index of the partial plan that ends with the begin of the enclosing residual
  /// block, or -1 if there is no such block.
  double rest_of(int i, int k, int outer) {
    if (outer < 0) return rest_.data()[i].data()[k];
    int const begin = at(outer).element, end = model_.partner(begin), r = at(outer).choice;
    auto& within = within_[{begin, r}];
    if (within.size() == 0) {
      within = scratch<scratch<double>>(static_cast<std::size_t>(net_.size()));
      solver_.backward(begin + 1, end - 1, solver_.arriving(end, r), within);
    }
    return within.data()[i].data()[k] + rest_of(end, r, at(outer).outer);
  }

  /// Returns a key of partial plan number l. Two partial plans with equal keys are equivalent for
  /// all later elements. The key contains the placements on which the later elements depend, with
  /// interchangeable axes (of equal extent and network tier) in sorted order.
  std::vector<int> look_of(int l) const {
    layer_choice const last = placed(l);
    std::vector<placement> seen{last.y, last.dy};
    bool const begins = model_.kind(at(l).element) == element_kind::residual_begin;
    for (int o = begins ? l : at(l).outer; o >= 0; o = at(o).outer) {
      layer_choice const c = placed(o);
      seen.insert(seen.end(), {c.x, c.y, c.dy, c.dx});
    }
    int const axes = mesh_.axes();
    std::vector<std::vector<int>> of_axis(static_cast<std::size_t>(axes));
    for (int a = 0; a < axes; ++a)
      for (placement const& p : seen) {
        axis_placement const& it = p[a];
        of_axis[static_cast<std::size_t>(a)].push_back(static_cast<int>(it.kind) + 4 * it.dim +
                                                       64 * it.depth +
                                                       1024 * static_cast<int>(it.op));
      }
    for (int a = 0; a < axes; ++a)
      for (int b = a, c = interchangeable_before(mesh_, a); c >= 0;
           b = c, c = interchangeable_before(mesh_, c)) {
        auto &x = of_axis[static_cast<std::size_t>(c)], &y = of_axis[static_cast<std::size_t>(b)];
        if (y < x) std::swap(x, y);
      }
    std::vector<int> look{at(l).element, at(l).choice};
    for (auto const& axis : of_axis) look.insert(look.end(), axis.begin(), axis.end());
    return look;
  }

  model_type& model_;
  basic_problem<N> const& net_;
  topology mesh_;
  chain_solver<N, multiset_moves> solver_;
  planned_moves moves_;
  boundary_times crossed_;
  least_moves least_;
  scratch<scratch<double>> rest_;
  /// Lower bounds inside residual blocks. The key is the begin of a block and the choice of its
  /// ends. The value is a matrix [i][k]: the least weight of everything after choice k of element i
  /// inside the block, up to the end of the block.
  std::map<std::pair<int, int>, scratch<scratch<double>>> within_;
  int effort_ = 0;   ///< number of partial plans that may still be examined
  double most_ = 0;  ///< the largest accepted lower bound of a complete plan's cost
  std::vector<partial_plan> all_;
};

}  // namespace ashlar::search::detail
