// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the fastest plan within a memory limit among the plans that recompute a given number of
// segments. The method has two steps: the Lagrangian dual (lagrangian.hpp) gives a lower bound and
// some plans, and label setting (label_search.hpp) closes the remaining gap. A plan is accepted
// only if it fits and is faster than the best known plan. To decide whether it fits, its memory is
// computed exactly, for the whole chain. within_memory.hpp runs this search for several numbers of
// segments.

#include <ashlar/search/label_search.hpp>
#include <ashlar/search/lagrangian.hpp>

namespace ashlar::search::detail {

template <int N, class Watch>
class memory_search {
 public:
  /// Solves the Lagrangian dual for plans of at most `limit` bytes per rank. `known` is the weight
  /// of the best known plan; `unreachable` means that there is none. If no fitting plan is known
  /// afterwards, looks for any plan that fits.
  constexpr memory_search(chain_model<N>& model, std::int64_t limit, Watch& watch,
                          double known = unreachable)
      : model_(model), memory_(model), counted_(model), limit_(limit), watch_(watch),
        known_(known) {
    chain_model<N> few = model;  // For the dual, the undominated choices suffice.
    few.keep_counted();
    counted_memory<N> const counted(few);
    memory_dual const dual = solve_dual(
        few, counted, limit,
        [&](scratch<int> const& path) {
          offer(model.path_from(few, path));
          return cost_of_path(few, counted, path);
        },
        [&watch] { return watch.go_on(); });
    price_ = dual.price;
    bound_ = dual.bound;
    if (bound_ >= unreachable) return;
    watch.raise_bound(bound_);
    auto const heavy = model.path_from(few, dual.heavy), light = model.path_from(few, dual.light);
    offer_mixtures(heavy, light);
    offer_mixtures(light, heavy);
    if (known_ < unreachable) return;
    scratch<int> lean(static_cast<std::size_t>(model.size()));
    auto const found = least_memory_path(model, limit, false, lean);
    if (found.bytes >= 0) offer(lean);
    else if (found.complete) bound_ = unreachable;
  }

  /// Closes the gap between the lower bound and the best plan by label setting (label_search.hpp),
  /// as far as the effort permits: each run of label setting makes at most `effort` labels (partial
  /// plans). Returns the number of labels made in all runs.
  constexpr std::int64_t label(std::int64_t effort) {
    std::int64_t made = 0;
    chain_solver<N> priced(model_, price_, counted_);
    int width = label_width, failures = 0;
    for (double margin = 1e-5;; margin *= 4) {
      double const most = known_ * (1 - 1e-13);  // a better plan has less weight than this
      if (bound_ >= most || !watch_.go_on()) return made;
      double const wanted = bound_ * (1 + margin);
      double const target = bound_ > 0 && wanted < most ? wanted : most;
      label_search<N> labels(model_, &priced, price_, counted_, limit_, target, width, effort);
      scratch<int> choice(static_cast<std::size_t>(model_.size()));
      double const found = labels.improve(choice);
      made += effort - labels.effort_left();
      bool const taken = found < target && memory_.of(choice) <= limit_;
      if (taken) take(found, choice);
      if (labels.complete()) {  // Every plan below the target was examined.
        bound_ = found < target ? found : target == most ? known_ : target;
        watch_.raise_bound(bound_);
        if (bound_ >= known_ || (found < target && !taken)) return made;
      } else {
        if (found < target || target == most || ++failures == 3) return made;
        // The next iterations are beam searches, which find good plans quickly.
        width = label_beam;
      }
    }
  }

  /// Returns a lower bound of the weight of every plan that fits and is better than the best known
  /// one.
  constexpr double bound() const { return bound_; }
  /// Returns the weight (seconds, plus a tiny amount per collective) of the best plan: the best one
  /// found here, or the known plan whose weight the constructor got.
  constexpr double weight() const { return known_; }
  /// Returns the best path (one choice per element of the chain). It is empty if no plan found here
  /// is better than the known plan whose weight the constructor got.
  constexpr scratch<int> const& best() const { return best_; }

 private:
  constexpr void take(double weight, scratch<int> const& choice) {
    known_ = weight;
    best_ = choice;
    watch_.improves(weight);
  }

  /// Makes a path (one choice per element) the best plan if it fits and is better than the best one
  /// so far.
  constexpr void offer(scratch<int> const& choice) {
    path_cost const cost = cost_of_path(model_, counted_, choice);
    if (cost.counted <= limit_ && cost.weight < known_ && memory_.of(choice) <= limit_)
      take(cost.weight, choice);
  }

  /// Tries mixtures of two paths. A mixture equals `first` up to some element, and `others` after
  /// that element. The two paths that solve the Lagrangian dual differ in all equal blocks at once:
  /// one path exceeds the memory limit and the other one does not. The best plan often changes only
  /// some of the blocks, so a mixture can be better than both paths.
  constexpr void offer_mixtures(scratch<int> const& first, scratch<int> const& others) {
    scratch<int> mixed = others;
    for (int i = 0; i < model_.size(); ++i) {
      int const end = model_.end(i);
      for (; i < end; ++i) mixed.data()[i] = first.data()[i];
      mixed.data()[i] = first.data()[i];
      offer(mixed);
    }
  }

  chain_model<N>& model_;
  chain_memory<N> memory_;
  counted_memory<N> counted_;
  std::int64_t limit_;
  Watch& watch_;
  double known_;
  double price_ = 0, bound_ = 0;
  scratch<int> best_;
};

}  // namespace ashlar::search::detail
