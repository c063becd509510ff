// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Drops choices that cannot be part of an optimal plan, so that the exact solver (chain_solver.hpp)
// has fewer choices to try. The method is reduced-cost fixing. Let U be the cost of a known plan.
// If every plan with a certain choice costs more than U, that choice is dropped. The costs of these
// plans are not computed, but bounded from below by a sum F + D + B:
//
//   F   a lower bound of the cost before an element, per choice of that element
//   B   a lower bound of the cost after an element, per choice of that element
//   D   the cost of a layer outside residual blocks, or a lower bound of the cost of a residual
//       block, per choice of the block's ends or of an element inside the block. In this bound the
//       two ends need not take the same choice
//
// F and B are computed for elements outside residual blocks and for whole blocks. They count the
// moves between two consecutive residual blocks as free. For a choice inside a block, F and B are
// the least values over all choices of the block's ends. Every optimal plan consists of remaining
// choices.
//
// For some choices of a block's ends, D is replaced by the exact cost. These choices are taken in
// ascending order of D: at least `few` of them, and more as long as the next D is below the least
// exact cost. So that cost is the optimum of the block, which improves F and B of all other
// elements. A second round repeats the procedure on the remaining choices, with exact costs for all
// choices of blocks' ends.
//
// If the caller gives no U, then U is the cost of the best plan in which every residual block that
// lies in no other block takes one of its `few` cheapest choices. Blocks whose ends belong to one
// class may also take each other's cheapest choices.

#include <algorithm>

#include <ashlar/search/residual_bound.hpp>

namespace ashlar::search {

template <int N, class Paths>
class bounded_choices {
 public:
  constexpr explicit bounded_choices(chain_model<N, Paths>& model) : model_(model) {}

  /// Drops the choices that, according to the lower bounds, cannot be part of a plan whose weight
  /// (seconds, plus a tiny amount per collective) is at most `upper`. If `upper` is 0, first finds
  /// a good plan and uses its weight as the limit, so that every optimal plan remains. But if
  /// `upper` is 0 and the chain has no residual blocks, drops nothing.
  constexpr void restrict(double upper = 0) {
    find_bounds(false);
    if (upper == 0) {
      if (blocks_.empty()) return;
      upper = best_of_few();
    }
    upper *= 1 + 1e-9;
    drop(upper);
    first_ = blocks_;
    if (blocks_.empty()) return;
    narrow(upper);
  }

  /// Uses the exact costs of residual blocks to drop more choices that cannot be part of a plan
  /// whose weight is at most `upper`. Expects that `restrict` was called before.
  constexpr void narrow(double upper) {
    blocks_.clear();
    find_bounds(true);
    drop(upper * (1 + 1e-9));
  }

  /// Returns lower bounds of the cost of the residual block that begins at `begin`. There is one
  /// bound per choice that the block's ends had before `restrict` dropped any choices.
  constexpr scratch<double> const& ends(int begin) const {
    int b = 0;
    while (!model_.alike(first_.data()[b].begin, begin)) ++b;
    return first_.data()[b].through.data()[0];
  }

 private:
  /// The exact cost is computed for at least this many choices of a residual block's ends. This
  /// many of the cheapest choices are tried to find a good plan.
  static constexpr int few = 8;

  struct block {
    int begin;
    /// One list per element of the block, from its begin on. The list has a lower bound of the
    /// block's cost for each choice of the element. It is empty if not computed.
    scratch<scratch<double>> through;
  };

  /// Computes lower bounds of the cost of each residual block that is not inside another one. If
  /// `exact` is set, computes exact costs for all choices of the block's ends.
  constexpr void find_bounds(bool exact) {
    chain_solver<N, Paths> solver(model_);
    for (int i = 0; i < model_.size(); ++i) {
      if (model_.kind(i) != element_kind::residual_begin) continue;
      bool known = false;
      for (block const& it : blocks_) known = known || model_.alike(it.begin, i);
      if (!known) add_bounds(solver, i, exact);
      i = model_.partner(i);
    }
  }

  constexpr block const& bounds_of(int begin) const {
    int b = 0;
    while (!model_.alike(blocks_.data()[b].begin, begin)) ++b;
    return blocks_.data()[b];
  }

  /// Drops all choices with which every plan costs more than `upper`, according to the lower
  /// bounds.
  constexpr void drop(double upper) {
    chain_solver<N, Paths> solver(model_);
    auto const size = static_cast<std::size_t>(model_.size());
    scratch<scratch<double>> before(size), after(size);
    come_and_go(solver, before, after);
    auto const classes = static_cast<std::size_t>(model_.classes());
    scratch<scratch<char>> keep(classes);
    for (std::size_t k = 0; k < classes; ++k)
      keep.data()[k] = scratch<char>(model_.class_at(static_cast<int>(k)).weight.size());
    for (int i = 0; i < model_.size(); ++i) {
      auto const &f = before.data()[i], &b = after.data()[i];
      char* const kept = keep.data()[model_.class_index(i)].data();
      for (std::size_t c = 0; c < f.size(); ++c) kept[c] |= f.data()[c] + b.data()[c] <= upper;
      if (model_.kind(i) == element_kind::layer) continue;
      block const& it = bounds_of(i);
      double const outside = least_outside(f, it.through.data()[0], b);
      int const end = model_.partner(i);
      for (int j = i + 1; j < end; ++j) {
        auto const& through = it.through.data()[j - i];
        char* const inner = keep.data()[model_.class_index(j)].data();
        for (std::size_t c = 0; c < through.size(); ++c)
          inner[c] |= outside + through.data()[c] <= upper;
        if (through.size() == 0 && model_.kind(j) != element_kind::residual_end)
          for (char& kept_inside : keep.data()[model_.class_index(j)]) kept_inside = 1;
      }
      i = end;
    }
    for (int k = 0; k < model_.classes(); ++k) model_.restrict(k, keep.data()[k]);
  }

  static constexpr double least(scratch<double> const& list) {
    double best = unreachable;
    for (double const v : list) best = v < best ? v : best;
    return best;
  }

  /// Returns a lower bound of the cost of everything outside a residual block. The arguments are
  /// lower bounds for each choice of the block's ends. `f` bounds the cost up to and including the
  /// block, `d` the cost of the block, and `b` the cost of everything after the block.
  static constexpr double least_outside(scratch<double> const& f, scratch<double> const& d,
                                        scratch<double> const& b) {
    double to = unreachable, from = unreachable;
    for (std::size_t r = 0; r < f.size(); ++r) {
      to = std::min(to, f.data()[r] - d.data()[r]);
      from = std::min(from, b.data()[r]);
    }
    return to + from;
  }

  /// Computes two lower bounds for each choice of each element that is not inside a residual block.
  /// `before` bounds the cost up to and including the element, `after` the cost of everything after
  /// the element. The bounds of a residual block are stored at its begin.
  constexpr void come_and_go(chain_solver<N, Paths>& solver, scratch<scratch<double>>& before,
                             scratch<scratch<double>>& after) {
    auto const cost = [&](int i) -> scratch<double> const& {
      return model_.kind(i) == element_kind::layer ? model_.choices(i).weight
                                                   : bounds_of(i).through.data()[0];
    };
    auto const add = [](scratch<double>& to, scratch<double> const& more) {
      for (std::size_t c = 0; c < to.size(); ++c) to.data()[c] += more.data()[c];
    };
    auto const is_free = [&](int i) {
      return model_.kind(i) == element_kind::residual_end &&
             model_.kind(i + 1) == element_kind::residual_begin;
    };
    int const last = model_.size() - 1;
    auto value = model_.from_source();
    for (int i = 0;; ++i) {
      add(value, cost(i));
      before.data()[i] = value;
      i = solver.skip_inside(i);
      if (i == last) break;
      // This is an if statement because GCC 12 destroys the result of a conditional operator twice
      // in constant evaluation.
      if (is_free(i)) value = {model_.choices(i + 1).weight.size(), least(value)};
      else value = solver.advance(i, value);
    }
    value = scratch<double>(model_.choices(last).weight.size());
    for (int i = last;; --i) {
      if (model_.kind(i) == element_kind::residual_end) i = model_.partner(i);
      after.data()[i] = value;
      if (i == 0) break;
      add(value, cost(i));
      if (is_free(i - 1)) value = {model_.choices(i - 1).weight.size(), least(value)};
      else value = solver.retreat(i - 1, value);
    }
  }

  constexpr void add_bounds(chain_solver<N, Paths>& solver, int begin, bool exact) {
    int const end = model_.partner(begin);
    block it{begin, scratch<scratch<double>>(static_cast<std::size_t>(end - begin))};
    scratch<double>& ends = it.through.data()[0];
    ends = residual_bound(solver, begin, it.through);
    auto const& own = model_.choices(begin).weight;
    if (exact) {
      double const* const inside = solver.inside(begin);
      for (std::size_t r = 0; r < ends.size(); ++r) ends.data()[r] = own.data()[r] + inside[r];
      blocks_.push_back(static_cast<block&&>(it));
      return;
    }
    for (std::size_t r = 0; r < ends.size(); ++r) ends.data()[r] += own.data()[r];
    scratch<int> order(ends.size());
    for (std::size_t r = 0; r < ends.size(); ++r) order.data()[r] = static_cast<int>(r);
    auto const cheaper = [&ends](int a, int b) {
      double const x = ends.data()[a], y = ends.data()[b];
      return x != y ? x < y : a < b;
    };
    std::sort(order.begin(), order.end(), cheaper);
    int known = 0;
    double optimum = unreachable;
    for (int const r : order) {
      if (ends.data()[r] >= optimum && known >= few) break;
      ends.data()[r] = own.data()[r] + solver.inside_of(begin, r);
      optimum = std::min(optimum, ends.data()[r]);
      ++known;
    }
    std::sort(order.begin(), order.begin() + known, cheaper);
    if (known > few) known = few;
    for (int k = 0; k < known; ++k) good_.push_back({model_.class_index(begin), order.data()[k]});
    blocks_.push_back(static_cast<block&&>(it));
  }

  /// Returns the cost of the best plan in which every residual block that lies in no other block
  /// takes a choice that is among the `few` cheapest ones of some block of its class.
  constexpr double best_of_few() {
    struct saved {
      int index;
      choice_class all;
    };
    std::vector<saved> narrowed;
    for (int k = 0; k < model_.classes(); ++k) {
      scratch<char> keep(model_.class_at(k).weight.size());
      bool any = false;
      for (auto const& it : good_)
        if (it.of_class == k) keep.data()[it.choice] = 1, any = true;
      if (!any) continue;
      narrowed.push_back({k, model_.class_at(k)});
      model_.restrict(k, keep);
    }
    double const found = chain_solver<N, Paths>(model_).solve();
    for (auto& it : narrowed) model_.replace(it.index, static_cast<choice_class&&>(it.all));
    return found;
  }

  struct good_choice {
    int of_class, choice;
  };

  chain_model<N, Paths>& model_;
  std::vector<block> blocks_, first_;  ///< bounds of the current round, and of the first one
  std::vector<good_choice> good_;
};

}  // namespace ashlar::search
