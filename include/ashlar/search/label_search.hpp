// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest choices of a chain whose kept memory stays within a budget, exactly: dynamic
// programming over labels (time so far, memory so far), of which each choice of each element keeps
// the Pareto set. A label goes as soon as one of two bounds shows that it cannot win:
//
//   memory   so far + the least of every later element             >  budget
//   time     so far + price · (memory so far - budget) + rest      >= the best plan known
//
// where rest is the optimum of what follows under time + price · memory, by chain_solver. With the
// price that solves the Lagrangian dual few labels are left; any price gives the same optimum.
//
// Many equal blocks make many labels of almost one cost. Each choice keeps at most `width` of them,
// the most promising, and `complete` tells whether that left out any.

#include <algorithm>

#include <ashlar/search/chain_solver.hpp>

namespace ashlar::search {

template <int N>
class label_search {
 public:
  /// `gathered`: the most that a choice may gather. `known`: weight to beat. `width`: see above.
  constexpr label_search(chain_model<N>& model, chain_solver<N>& priced, double price,
                         std::int64_t gathered, std::int64_t budget, double known, int width)
      : model_(model), priced_(priced), price_(price), gathered_(gathered), budget_(budget),
        known_(known), width_(width), least_after_(static_cast<std::size_t>(model.size())) {
    for (int i = model.size() - 1; i > 0; --i)
      least_after_.data()[i - 1] = least_after_.data()[i] + least_kept(model, i, gathered);
  }

  /// The least that an element keeps with choices that gather at most so much; -1 if there is none.
  static constexpr std::int64_t least_kept(chain_model<N> const& model, int i,
                                           std::int64_t gathered, int* where = nullptr) {
    if (model.kind(i) == element_kind::residual_end) return 0;
    choice_class const& c = model.choices(i);
    std::int64_t least = -1;
    for (int j = 0; j < c.size(); ++j) {
      element_memory const& bytes = c.memory.data()[j];
      if (bytes.gathered > gathered || (least >= 0 && bytes.kept >= least)) continue;
      least = bytes.kept;
      if (where != nullptr) *where = j;
    }
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
    for (int k = 0; k < n; ++k)
      extend({0, 0, -1, -1, -1}, -1, start.data()[k], 0, k, rest.data()[0].data()[k],
             lists.data()[k]);
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

  /// Whether no label was left out for its number alone, so that the answer is exact.
  constexpr bool complete() const { return complete_; }

 private:
  struct label {
    double time;
    std::int64_t kept;
    int parent, element, choice;
  };
  using label_lists = scratch<std::vector<int>>;  ///< per choice of an element: its labels

  /// Adds the label of choice `k` of element `i`, coming from `before` over a boundary.
  constexpr void extend(label const& before, int parent, double boundary, int i, int k, double rest,
                        std::vector<int>& list) {
    label next{before.time + boundary, before.kept, parent, i, k};
    if (model_.kind(i) != element_kind::residual_end) {
      element_memory const& bytes = model_.choices(i).memory.data()[k];
      if (bytes.gathered > gathered_) return;
      next.time += model_.choices(i).weight.data()[k];
      next.kept += bytes.kept;
    }
    if (next.kept + least_after_.data()[i] > budget_) return;
    if (next.time + price_ * double(next.kept - budget_) + rest >= known_) return;
    list.push_back(static_cast<int>(labels_.size()));
    labels_.push_back(next);
  }

  /// Keeps the Pareto set, by time.
  constexpr void reduce(std::vector<int>& list) {
    label const* const all = labels_.data();
    std::sort(list.begin(), list.end(), [all](int a, int b) {
      return all[a].time != all[b].time ? all[a].time < all[b].time : all[a].kept < all[b].kept;
    });
    std::vector<int> kept;
    for (int const l : list)
      if (kept.empty() || all[l].kept < all[kept.data()[kept.size() - 1]].kept) kept.push_back(l);
    if (static_cast<int>(kept.size()) > width_) {
      complete_ = false;
      double const price = price_;
      std::nth_element(kept.begin(), kept.begin() + width_, kept.end(), [all, price](int a, int b) {
        return all[a].time + price * double(all[a].kept) <
               all[b].time + price * double(all[b].kept);
      });
      kept.resize(static_cast<std::size_t>(width_));
    }
    list = kept;
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
            extend(label(labels_.data()[l]), l, ways[j * next + k], i + 1, k,
                   rest.data()[i + 1].data()[k], result.data()[k]);
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
        extend(label(labels_.data()[l]), l, priced_.between(begin, r, r), end, r, rest, result);
      return result;
    }
    auto const from = priced_.leaving(begin, r), to = priced_.arriving(end, r);
    scratch<double> after = to;
    for (double& a : after) a += rest;
    scratch<scratch<double>> within(static_cast<std::size_t>(model_.size()));
    priced_.backward(begin + 1, end - 1, after, within);
    int const n = model_.choices(begin + 1).size();
    label_lists lists(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k)
      for (int const l : list)
        extend(label(labels_.data()[l]), l, from.data()[k], begin + 1, k,
               within.data()[begin + 1].data()[k], lists.data()[k]);
    lists = level(begin + 1, end - 1, static_cast<label_lists&&>(lists), within);
    for (int k = 0; k < static_cast<int>(lists.size()); ++k)
      for (int const l : lists.data()[k])
        extend(label(labels_.data()[l]), l, to.data()[k], end, r, rest, result);
    reduce(result);
    return result;
  }

  chain_model<N>& model_;
  chain_solver<N>& priced_;
  double price_;
  std::int64_t gathered_, budget_;
  double known_;
  int width_;
  bool complete_ = true;
  scratch<std::int64_t> least_after_;  ///< per element: what all later ones keep at least
  std::vector<label> labels_;
};

}  // namespace ashlar::search
