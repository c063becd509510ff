// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest choices of a chain that fit a memory limit, exactly: dynamic programming over labels
// (time, kept, gathered so far; memory.hpp), of which each choice of each element keeps the Pareto
// set. A label goes as soon as one of two bounds shows that it cannot win:
//
//   memory   kept + gathered + the least that every later element keeps       >  limit
//   time     time + price · (kept + gathered - limit) + rest                  >= the best plan known
//
// where rest is the optimum of what follows under time + price · kept, by chain_solver. With the
// price that solves the Lagrangian dual few labels are left; any price gives the same optimum.
//
// Many equal blocks make many labels of almost one cost. Each choice keeps at most `width` of them,
// the most promising, and the search gives up after `effort` labels; `complete` tells whether that
// left out any.

#include <algorithm>

#include <ashlar/search/chain_solver.hpp>

namespace ashlar::search {

template <int N>
class label_search {
 public:
  /// `price`: what `priced` was made with. `known`: weight to beat. `width`,
  /// `effort`: see above.
  constexpr label_search(chain_model<N>& model, chain_solver<N>& priced, double price,
                         std::int64_t limit, double known, int width, std::int64_t effort)
      : model_(model), priced_(priced), price_(price), limit_(limit), known_(known), width_(width),
        effort_(effort), least_after_(static_cast<std::size_t>(model.size())) {
    for (int i = model.size() - 1; i > 0; --i)
      least_after_.data()[i - 1] = least_after_.data()[i] + least_kept(model, i);
  }

  /// The least that an element keeps.
  static constexpr std::int64_t least_kept(chain_model<N> const& model, int i) {
    if (model.kind(i) == element_kind::residual_end) return 0;
    std::int64_t least = -1;
    for (auto const& bytes : model.choices(i).memory)
      if (least < 0 || bytes.kept < least) least = bytes.kept;
    return least;
  }

  /// Looks for choices of less weight than `known`. If there are, writes the best into `choice`,
  /// whose weight is returned; else returns `known`.
  constexpr double improve(scratch<int>& choice) {
    int const n = model_.choices(0).size(), last = model_.size() - 1;
    auto const start = model_.from_source();
    scratch<double> const nothing(static_cast<std::size_t>(model_.choices(last).size()));
    scratch<scratch<double>> rest(static_cast<std::size_t>(model_.size()));
    priced_.backward(0, last, nothing, rest);
    label_lists lists(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      extend({0, 0, 0, -1, -1, -1}, -1, start.data()[k], 0, k, rest.data()[0].data()[k]);
      reduce(lists.data()[k]);
    }
    lists = level(0, last, static_cast<label_lists&&>(lists), rest);
    int best = -1;
    double found = known_;
    for (auto const& list : lists)
      for (int const l : list)
        if (labels_.data()[l].time < found) found = labels_.data()[l].time, best = l;
    for (int l = best; l >= 0; l = labels_.data()[l].parent)
      choice.data()[labels_.data()[l].element] = labels_.data()[l].choice;
    return found;
  }

  /// Labels that could still be made.
  constexpr std::int64_t effort_left() const { return effort_ > 0 ? effort_ : 0; }

  /// Whether no label was left out for its number alone, so that the answer is exact.
  constexpr bool complete() const { return complete_; }

 private:
  struct label {
    double time;
    std::int64_t kept, gathered;
    int parent, element, choice;
  };
  using label_lists = scratch<std::vector<int>>;  ///< per choice of an element: its labels

  /// Adds a candidate: the label of choice `k` of element `i`, coming from `before` over a boundary.
  constexpr void extend(label const& before, int parent, double boundary, int i, int k,
                        double rest) {
    if (--effort_ < 0) {
      complete_ = false;
      return;
    }
    label next{before.time + boundary, before.kept, before.gathered, parent, i, k};
    if (model_.kind(i) != element_kind::residual_end) {
      element_memory const& bytes = model_.choices(i).memory.data()[k];
      next.time += model_.choices(i).weight.data()[k];
      next.kept += bytes.kept;
      if (bytes.gathered > next.gathered) next.gathered = bytes.gathered;
    }
    if (next.kept + next.gathered + least_after_.data()[i] > limit_) return;
    if (next.time + price_ * double(next.kept + next.gathered - limit_) + rest >= known_) return;
    candidates_.push_back(next);
  }

  /// The Pareto set of the candidates, or its most promising ones, become the labels of `list`.
  constexpr void reduce(std::vector<int>& list) {
    list.clear();
    // What is dominated comes after what dominates it.
    std::sort(candidates_.begin(), candidates_.end(), [price = price_](auto& a, auto& b) {
      double const pa = a.time + price * double(a.kept), pb = b.time + price * double(b.kept);
      return pa != pb ? pa < pb : a.time != b.time ? a.time < b.time : a.parent < b.parent;
    });
    for (label const& l : candidates_) {
      bool dominated = false;
      int const n = static_cast<int>(list.size());
      for (int f = 0; f < n && !dominated; ++f) {
        label const& other = labels_.data()[list.data()[f]];
        dominated = other.time <= l.time && other.kept <= l.kept && other.gathered <= l.gathered;
      }
      if (dominated) continue;
      if (n == width_) {
        complete_ = false;
        break;
      }
      list.push_back(static_cast<int>(labels_.size()));
      labels_.push_back(l);
    }
    candidates_.clear();
  }

  /// The labels of `last`, given those of `first`, on one level. `rest`: per element of the level,
  /// what follows each of its choices.
  constexpr label_lists level(int first, int last, label_lists lists,
                              scratch<scratch<double>> const& rest) {
    for (int i = first;;) {
      if (model_.kind(i) == element_kind::residual_begin) {
        int const end = model_.partner(i);
        for (int r = 0; r < static_cast<int>(lists.size()); ++r)
          if (!lists.data()[r].empty())
            lists.data()[r] = through(i, end, r, lists.data()[r], rest.data()[end].data()[r]);
        i = end;
      }
      if (i >= last) return lists;
      int const next = model_.choices(i + 1).size();
      label_lists result(static_cast<std::size_t>(next));
      double const* const ways = model_.boundary(i);
      for (int k = 0; k < next; ++k) {
        for (int j = 0; j < static_cast<int>(lists.size()); ++j)
          for (int const l : lists.data()[j])
            extend(labels_.data()[l], l, ways[j * next + k], i + 1, k,
                   rest.data()[i + 1].data()[k]);
        reduce(result.data()[k]);
      }
      lists = static_cast<label_lists&&>(result);
      ++i;
    }
  }

  /// The labels at the end of a residual in choice `r`, given those at its begin.
  constexpr std::vector<int> through(int begin, int end, int r, std::vector<int> const& list,
                                     double rest) {
    std::vector<int> result;
    if (end == begin + 1) {
      for (int const l : list)
        extend(labels_.data()[l], l, priced_.between(begin, r, r), end, r, rest);
      reduce(result);
      return result;
    }
    auto const from = priced_.leaving(begin, r), to = priced_.arriving(end, r);
    scratch<double> after = to;
    for (double& a : after) a += rest;
    scratch<scratch<double>> within(static_cast<std::size_t>(model_.size()));
    priced_.backward(begin + 1, end - 1, after, within);
    int const n = model_.choices(begin + 1).size();
    label_lists lists(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      for (int const l : list)
        extend(labels_.data()[l], l, from.data()[k], begin + 1, k,
               within.data()[begin + 1].data()[k]);
      reduce(lists.data()[k]);
    }
    lists = level(begin + 1, end - 1, static_cast<label_lists&&>(lists), within);
    for (int k = 0; k < static_cast<int>(lists.size()); ++k)
      for (int const l : lists.data()[k]) extend(labels_.data()[l], l, to.data()[k], end, r, rest);
    reduce(result);
    return result;
  }

  chain_model<N>& model_;
  chain_solver<N>& priced_;
  double price_;
  std::int64_t limit_;
  double known_;
  int width_;
  std::int64_t effort_;  ///< labels that may still be made
  bool complete_ = true;
  scratch<std::int64_t> least_after_;  ///< per element: what all later ones keep at least
  std::vector<label> labels_, candidates_;
};

}  // namespace ashlar::search
