// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines a complete plan that local search algorithms change, one choice at a time. After a
// change, only the costs of the changed layer and of its two boundaries are computed again.
//
//   element    a layer, or the begin or the end of a residual block
//   variable   an element with a choice of its own. The two ends of a residual block are one
//              variable, because they always take the same choice
//   weight     seconds plus a tiny amount per collective: Σ own weights of the variables
//              + Σ weights of the boundaries between neighbours + the weight of the move of the
//              input to the first element, all from the tables of chain_model
//   memory     added up over the whole chain (step/memory_fold.hpp) each time a choice is tested
//              against the memory limit. Adding it up takes time linear in the length of the chain,
//              and is skipped if a lower bound already shows that the choice does not fit
//
// The weight is updated by differences. Every 4,096 changes it is recomputed from scratch to limit
// rounding errors.

#include <vector>

#include <ashlar/search/chain_memory.hpp>
#include <ashlar/search/counted_memory.hpp>

namespace ashlar::search {

template <int N>
class assignment {
 public:
  /// Starts with the first choice of every variable (a layer or residual block). `limit` is the
  /// most memory that a rank may use, in bytes; 0 means no limit.
  assignment(chain_model<N>& model, std::int64_t limit)
      : model_(model), memory_(model), counted_(model), limit_(limit), start_(model.from_source()) {
    std::size_t const n = at(model.size());
    choice_.resize(n);
    for (int i = 0; i < model.size(); ++i) {
      if (i + 1 < model.size()) way_.push_back(model.boundary(i));
      if (model.kind(i) == element_kind::residual_end) continue;
      begin_.push_back(i);
      end_.push_back(model.kind(i) == element_kind::residual_begin ? model.partner(i) : i);
    }
    settle();
  }

  int variables() const { return static_cast<int>(begin_.size()); }
  int choices(int v) const { return model_.choices(begin_[at(v)]).size(); }
  int choice(int v) const { return choice_[at(begin_[at(v)])]; }

  double weight() const { return weight_; }
  bool fits() const { return limit_ == 0 || memory_.of(path()) <= limit_; }

  /// Returns the weight that the plan would have if variable v (a layer or residual block) took
  /// choice k. The weight is in seconds, plus a tiny amount per collective.
  double weight_with(int v, int k) const { return weight_ + (around(v, k) - around(v, choice(v))); }

  /// Returns the part of the plan's weight that depends on variable v (a layer or residual block),
  /// if v takes choice k: the weight of v itself and of the moves to and from its neighbours.
  double around(int v, int k) const {
    int const b = begin_[at(v)], e = end_[at(v)];
    double sum = model_.choices(b).weight.data()[k] + before(b, k) + after(e, k);
    if (e == b) return sum;
    return sum + (e == b + 1 ? between(b, k, k) : after(b, k) + before(e, k));
  }

  /// Returns whether the plan would fit in memory if variable v (a layer or residual block) took
  /// choice k.
  bool fits_with(int v, int k) const {
    if (limit_ == 0) return true;
    int const b = begin_[at(v)];
    if (counted_.least_with(b, model_.memory(b, k)) > limit_) return false;
    auto changed = path();
    changed.data()[b] = changed.data()[end_[at(v)]] = k;
    return memory_.of(changed) <= limit_;
  }

  void choose(int v, int k) {
    if (k == choice(v)) return;
    weight_ = weight_with(v, k);
    set(v, k);
    if (++changes_ % 4'096 == 0) settle();
  }

  /// Sets the choice of variable v (a layer or residual block) without updating the weight of the
  /// plan. Call settle() after the last such call.
  void set(int v, int k) { choice_[at(begin_[at(v)])] = choice_[at(end_[at(v)])] = k; }

  /// Recomputes the weight (seconds, plus a tiny amount per collective) of the plan from scratch.
  void settle() {
    weight_ = start_.data()[choice_[0]];
    for (int v = 0; v < variables(); ++v)
      weight_ += model_.choices(begin_[at(v)]).weight.data()[choice(v)];
    for (int i = 0; i + 1 < model_.size(); ++i)
      weight_ += between(i, choice_[at(i)], choice_[at(i + 1)]);
  }

  /// Returns, for every element, the index of its choice. make_plan expects such a list.
  scratch<int> path() const {
    scratch<int> list(choice_.size());
    for (std::size_t i = 0; i < choice_.size(); ++i) list[i] = choice_[i];
    return list;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  double between(int i, int left, int right) const {
    return way_[at(i)][left * model_.choices(i + 1).size() + right];
  }
  double before(int i, int k) const {
    return i == 0 ? start_.data()[k] : between(i - 1, choice_[at(i - 1)], k);
  }
  double after(int i, int k) const {
    return i + 1 == model_.size() ? 0 : between(i, k, choice_[at(i + 1)]);
  }

  chain_model<N>& model_;
  chain_memory<N> memory_;
  counted_memory<N> counted_;
  std::int64_t limit_;
  scratch<double> start_;
  std::vector<double const*> way_;  ///< per boundary: weights [choice before][choice after]
  std::vector<int> begin_, end_;    ///< per layer or residual block: its first and last element
  std::vector<int> choice_;         ///< per element: the index of its choice
  std::int64_t changes_ = 0;
  double weight_ = 0;
};

}  // namespace ashlar::search
