// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Implements the search of HiDup (Zhang et al., "Accelerating Large-Scale Distributed Neural
// Network Training with SPMD Parallelism", SoCC 2022, section 4) over the numbers of a turn_chain.
// hidup.hpp makes a plan of its result.
//
// Two micro-batches take turns. A strategy chooses placements, and so divides the chain into
// stages. Stage m is a communication step of comm_m seconds, followed by a computation step of
// comp_m seconds, both for one micro-batch. psi_m is the time until both micro-batches have passed
// stage m. phi_m is minus the time of the stage's computation step (equations 4 and 5):
//
//   phi_m = -comp_m
//   psi_m = psi_{m-1} + phi_{m-1} + max(-phi_{m-1}, comm_m) + max(comm_m, comp_m) - phi_m
//
// The state of a strategy is a cut of the net and the placements of the tensors there. The paper
// drops a strategy if another one with the same state has a psi and a phi that are both no greater.
// This search differs in two ways:
//
//   open stages    An element joins the last stage as long as no tensor has to move in between. So
//                  the last stage is open, and labels describe strategies with an open stage.
//   two searches   If nothing moves between many layers with weights, the number of undominated
//                  strategies grows as the third power of the number of layers. So a first search
//                  keeps only a few strategies, those of least bound. A second search drops
//                  strategies whose bound is not below the psi found first. The result is that of
//                  the paper if the second search never has more labels than it may keep
//                  (is_exact).

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <ashlar/search/overlap/turn_walk.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {

/// Finds the strategy with the least psi.
class hidup_search {
 public:
  /// Prepares the search for the least seconds of two micro-batches in a step of `micro_batches`
  /// micro-batches. The chain must outlive this object.
  hidup_search(turn_chain const& chain, int micro_batches)
      : chain_(chain), micro_batches_(micro_batches) {}

  static constexpr std::size_t few_labels = 32, most_labels = 4096;

  /// Returns the least psi of all strategies, and the choices of that strategy. A state keeps at
  /// most `labels` strategies (`few` in the first search): those with the least bounds. If a state
  /// needs more strategies, the result may not be the least psi.
  std::pair<double, std::vector<int>> run(std::size_t labels = most_labels,
                                          std::size_t few = few_labels) {
    rest_.assign(at(chain_.size()), 0);
    for (int i = chain_.size() - 1; i > 0; --i) {
      double least = std::numeric_limits<double>::infinity();
      for (int c = 0; c < chain_.choices(i); ++c) least = std::min(least, work(i, c));
      rest_[at(i - 1)] = rest_[at(i)] + least;
    }
    limit_ = std::numeric_limits<double>::infinity();
    kept_ = std::min(labels, few);
    auto first = search();
    if (labels <= kept_ || is_exact_) return first;
    limit_ = first.first;
    kept_ = labels;
    auto second = search();
    return second.first < first.first ? second : first;
  }

  /// Returns whether the last result is known to have the least psi of all strategies.
  bool is_exact() const { return is_exact_; }

 private:
  std::pair<double, std::vector<int>> search() {
    nodes_.clear();
    is_exact_ = true;
    label_lists labels(at(chain_.choices(0)), std::vector<label>(1));
    enter(0, labels);
    labels = through_chain(
        chain_, 0, chain_.size() - 1, std::move(labels),
        [&](int i, label_lists& lists) { enter(i, lists); },
        [&](int i, label_lists const& lists, int only) { return across(i, lists, only); });
    std::pair<double, std::vector<int>> best{std::numeric_limits<double>::infinity(), {}};
    int last = -1;
    for (auto const& list : labels)
      for (auto const& l : list)
        if (l.psi() < best.first) best.first = l.psi(), last = l.node;
    if (last < 0) return best;  // no strategy has a bound below the limit
    best.second.resize(at(chain_.size()));
    for (int n = last; n >= 0; n = nodes_[at(n)].before)
      best.second[at(nodes_[at(n)].element)] = nodes_[at(n)].choice;
    return best;
  }

  /// A strategy whose last stage is open. `comm` and `comp` are the seconds of this stage so far.
  /// `before` is psi + phi of the stage right before the open one, and `last` is the seconds of its
  /// computation step.
  struct label {
    double before = 0, last = 0, comm = 0, comp = 0;
    int node = -1;

    double without_last() const { return before + std::max(last, comm) + std::max(comm, comp); }
    double psi() const { return without_last() + comp; }

    /// Returns a lower bound of psi if computations of `rest` seconds follow. Each later stage
    /// takes at least twice its computation step, and all of `rest` together can hide at most
    /// `comm`.
    double bound(double rest) const {
      return before + std::max(last, comm) + std::max(comm, comp + rest) + comp + rest;
    }

    /// Ends the open stage and begins a stage whose communication step takes `seconds`.
    void begin_stage(double seconds) {
      before = without_last();
      last = comp;
      comm = seconds;
      comp = 0;
    }

    /// Returns whether this strategy takes at most as long as `other` with any elements that may
    /// follow. Both have the same state. The work of the open stage counts at most twice in psi. So
    /// if this strategy has d seconds more of that work, everything else must be 2 d seconds
    /// shorter.
    bool is_no_worse(label const& other) const {
      double const more = 2 * std::max(0.0, comp - other.comp);
      return comm <= other.comm && before + more <= other.before &&
             before + more + std::max(last, comm) <=
                 other.before + std::max(other.last, other.comm);
    }
  };
  using label_lists = std::vector<std::vector<label>>;  // by the choice of the last element
  struct node {
    int element, choice, before;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  double work(int i, int c) const {
    return chain_.at(i).forward[at(c)] + chain_.at(i).backward[at(c)];
  }

  void enter(int i, label_lists& labels) {
    auto const& own = chain_.at(i);
    double const rest = rest_[at(i)];
    for (int c = 0; c < chain_.choices(i); ++c) {
      double weights = 0;
      for (std::size_t on = 0; on < turn_links; ++on)
        weights += (own.gathers[at(c)][on] + own.synchronize[at(c)][on]) / micro_batches_;
      double const inside = chain_.move(own.inside[at(c)]).seconds();
      std::vector<label> kept;
      auto const keep = [&](label l) {
        l.comp += work(i, c);
        if (inside > 0) l.begin_stage(inside);
        if (l.bound(rest) >= limit_ * (1 - 1e-9)) return;
        for (auto const& k : kept)
          if (k.is_no_worse(l)) return;
        std::erase_if(kept, [&](label const& k) { return l.is_no_worse(k); });
        kept.push_back(l);
      };
      for (auto l : labels[at(c)]) {
        if (weights > 0 && l.comp > 0) {
          auto begun = l;
          begun.begin_stage(weights);
          keep(begun);
        }
        l.comm += weights;
        keep(l);
      }
      if (kept.size() > kept_) {
        std::nth_element(
            kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(kept_), kept.end(),
            [&](label const& a, label const& b) { return a.bound(rest) < b.bound(rest); });
        kept.resize(kept_);
        is_exact_ = false;
      }
      for (auto& l : kept) {
        nodes_.push_back({i, c, l.node});
        l.node = static_cast<int>(nodes_.size()) - 1;
      }
      labels[at(c)] = std::move(kept);
    }
  }

  label_lists across(int i, label_lists const& labels, int only) const {
    auto const& moves = chain_.behind(i);
    int const n = chain_.choices(i + 1);
    label_lists next(at(n));
    for (std::size_t c = 0; c < labels.size(); ++c)
      for (int k = only < 0 ? 0 : only; k < (only < 0 ? n : only + 1); ++k) {
        double moved = 0;
        for (auto const* index : {&moves.forward, &moves.backward})
          moved += chain_.move((*index)[c * at(n) + at(k)]).seconds();
        for (auto l : labels[c]) {
          if (moved > 0) l.begin_stage(moved);
          next[at(k)].push_back(l);
        }
      }
    return next;
  }

  turn_chain const& chain_;
  int micro_batches_;
  std::vector<double> rest_;  ///< the least work after each element
  std::size_t kept_ = 0;
  double limit_ = std::numeric_limits<double>::infinity();
  bool is_exact_ = true;
  std::vector<node> nodes_;
};

/// Returns whether a choice splits each of its tensors along at most one dim, as HiDup does: the
/// choice has the same row on every axis.
inline bool splits_one_dim(layer_choice const& c, topology const& t) {
  int first = -1;
  for (int a = 0; a < t.axes(); ++a) {
    if (t.extent(a) == 1) continue;
    if (first < 0) first = a;
    auto const is_same = [&](placement const& p) { return same_role(p[a], p[first]); };
    if (!is_same(c.x) || !is_same(c.y) || !is_same(c.dy) || !is_same(c.dx)) return false;
    for (auto const& p : c.parameters)
      if (!is_same(p.store) || !is_same(p.use) || !is_same(p.grad)) return false;
  }
  return true;
}

}  // namespace ashlar::search
