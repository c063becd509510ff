// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest plan that fits a memory limit, exactly. Memory is a sum (kept) and a maximum
// (gathered; memory.hpp).
//
//   1. the least possible memory: the minimum, over the values g of the maximum, of g + Σ elements
//      the least kept by choices that gather at most g
//   2. the Lagrangian dual in one price of kept memory (lagrangian.hpp): a lower bound of the
//      seconds, and plans that fit on the way
//   3. labels (label_search) of the plans that are at most so much dearer than the bound, for a
//      growing margin, until there is one: the cheapest of them is the optimum
//
// Where the labels become too many (deep nets of nearly equal blocks, tight limits) the plan says by
// how much it may miss the optimum: basic_plan::gap.

#include <ashlar/search/label_search.hpp>
#include <ashlar/search/lagrangian.hpp>
#include <ashlar/search/unwatched.hpp>

namespace ashlar::search {
namespace detail {

inline constexpr int label_width = 400;
inline constexpr int label_beam = 4;
inline constexpr std::int64_t label_effort = 20'000'000;  ///< about half a second

/// Steps 2 and 3.
template <int N, class Watch>
class memory_search {
 public:
  /// Expects `lean` to fit the limit.
  constexpr memory_search(chain_model<N>& model, std::int64_t limit, scratch<int> const& lean,
                          Watch& watch)
      : model_(model), limit_(limit), watch_(watch), best_(lean) {
    memory_dual const dual = solve_dual(
        model, limit, lean, [this](scratch<int> const& path) { return offer(path); },
        [&watch] { return watch.go_on(); });
    double const price = dual.price;
    double bound = dual.bound;
    watch.raise_bound(bound);
    offer_mixtures(dual.heavy, dual.light);
    offer_mixtures(dual.light, dual.heavy);
    chain_solver<N> priced(model, price);
    int width = label_width, failures = 0;
    for (double margin = 1e-5;; margin *= 4) {
      double const most = known_ * (1 - 1e-13);  // anything less is better
      if (bound >= most) return;
      if (!watch.go_on()) break;
      double const wanted = bound * (1 + margin);
      double const target = bound > 0 && wanted < most ? wanted : most;
      label_search<N> labels(model, priced, price, limit, target, width, label_effort);
      scratch<int> choice(best_.size());
      double const found = labels.improve(choice);
      if (found < target) take(found, choice);
      if (labels.complete()) {  // every plan below the target was looked at
        bound = found < target || target == most ? known_ : target;
        watch.raise_bound(bound);
        if (bound == known_) return;
      } else {
        if (found < target || target == most || ++failures == 3) break;
        width = label_beam;  // from here on, any good plan will do
      }
    }
    gap_ = bound < known_ ? 1 - bound / known_ : 0;
  }

  constexpr scratch<int> const& best() const { return best_; }
  constexpr double gap() const { return gap_; }

 private:
  constexpr void take(double weight, scratch<int> const& choice) {
    known_ = weight;
    best_ = choice;
    watch_.improves(weight);
  }

  /// Takes note of a path if it fits and is better.
  constexpr path_cost offer(scratch<int> const& choice) {
    path_cost const cost = cost_of_path(model_, choice);
    if (cost.kept + cost.gathered <= limit_ && cost.weight < known_) take(cost.weight, choice);
    return cost;
  }

  /// The first elements as in one path, the others as in the other, for every place between.
  /// Equal blocks change sides all at once with the price; between them lies the optimum.
  constexpr void offer_mixtures(scratch<int> const& first, scratch<int> const& others) {
    scratch<int> mixed = others;
    for (int i = 0; i < model_.size(); ++i) {
      int const end = model_.kind(i) == element_kind::residual_begin ? model_.partner(i) : i;
      for (; i < end; ++i) mixed.data()[i] = first.data()[i];
      mixed.data()[i] = first.data()[i];
      offer(mixed);
    }
  }

  chain_model<N>& model_;
  std::int64_t limit_;
  Watch& watch_;
  double known_ = unreachable;
  double gap_ = 0;
  scratch<int> best_;
};

/// The same on a model that has all choices which count below the limit; others are dropped from it.
template <int N, class Watch>
constexpr basic_plan<N> within_memory(chain_model<N>& model, std::int64_t limit, Watch&& watch) {
  auto const lean = demand_room(model, limit, "search::optimal");
  memory_search const search(model, limit, lean, watch);
  auto chosen = make_plan(model, search.best());
  chosen.gap = search.gap();
  return chosen;
}

}  // namespace detail

/// The plan of least predicted seconds among those of at most machine.memory bytes per rank.
/// Throws ashlar::error if there is none, saying the least possible. Arguments as of `optimal`.
template <int N, class Filter, class Watch = detail::unwatched>
constexpr basic_plan<N> within_memory(basic_problem<N> const& net, topology const& t,
                                      machine const& m, Filter const& filter,
                                      Watch&& watch = Watch{}) {
  chain_model<N> model(net, t, m, filter, pruning::by_time_and_memory);
  return detail::within_memory(model, m.memory, watch);
}

}  // namespace ashlar::search
