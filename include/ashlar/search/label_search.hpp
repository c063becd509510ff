// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the fastest plan of a chain of layers within a memory limit. The problem is a shortest path
// with a resource constraint, and the method is label setting. A label is a partial plan: the
// choices of the first elements of the chain, with their time and memory so far
// (step/memory_fold.hpp). For each choice of each element, the search stores the Pareto-optimal
// labels that end with this choice. It discards a label as soon as one of two bounds shows that the
// label cannot become the best plan:
//
//   memory   The complete plan needs at least the peak memory of the label so far. It also needs
//            the bytes that the label holds now plus a lower bound for later elements
//            (still_to_come.hpp). The label is discarded if one of these two exceeds the limit.
//   time     The label is discarded if time + price · (counted memory - limit) + remainder is at
//            least the time of the best known plan. The remainder is the least possible value of
//            (time + price · counted memory) of the later elements, from chain_solver. Counted
//            memory (counted_memory.hpp) is a lower bound of memory.
//
// `price` is in seconds per byte. The optimum does not depend on it, but the number of labels does.
// The price that solves the Lagrangian dual (lagrangian.hpp) leaves few labels.
//
// Many equal blocks produce many labels of almost equal cost, so the effort has two limits. For
// each choice the search stores at most the `width` most promising labels, as in beam search. After
// making `effort` labels it makes no more. If one of these limits discards a label, complete()
// returns false, and the plan found need not be the optimum. Otherwise the search is exact.

#include <algorithm>

#include <ashlar/search/chain_memory.hpp>
#include <ashlar/search/chain_solver.hpp>
#include <ashlar/search/still_to_come.hpp>

namespace ashlar::search {

namespace detail {

inline constexpr int label_width = 400;
inline constexpr int label_beam = 4;
/// The usual maximum number of labels (partial plans) that a search makes. Making that many labels
/// takes some seconds.
inline constexpr std::int64_t label_effort = 20'000'000;

}  // namespace detail

template <int N>
class label_search {
 public:
  /// Prepares a search for plans of at most `limit` bytes per rank.
  ///   priced   a solver of the chain in which each byte costs `price` seconds. If null, the search
  ///            ignores time and finds the plan of least memory
  ///   counted  selects the bytes that cost `price`; their sum is a lower bound of a plan's memory
  ///   known    the weight of the best known plan
  ///   width    the most labels (partial plans) that are stored per choice of an element
  ///   effort   the most labels that are made
  constexpr label_search(chain_model<N>& model, chain_solver<N>* priced, double price,
                         counted_memory<N> const& counted, std::int64_t limit, double known,
                         int width, std::int64_t effort)
      : model_(model), memory_(model), counted_(counted), priced_(priced), price_(price),
        limit_(limit), known_(known), width_(width), effort_(effort), after_(model) {}

  /// Searches for a path (one choice per element) of less weight (seconds, plus a tiny amount per
  /// collective) than `known`. If there is one, writes the best path into `choice` and returns its
  /// weight. Otherwise leaves `choice` unchanged and returns `known`. If `priced` is null, searches
  /// for the path of least memory within the limit.
  constexpr double improve(scratch<int>& choice) {
    int const n = model_.choices(0).size(), last = model_.size() - 1;
    auto const start = model_.from_source();
    scratch<double> const nothing(static_cast<std::size_t>(model_.choices(last).size()));
    auto const rest = what_follows(0, last, nothing);
    label_lists lists(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      extend({0, 0, 0, {}, -1, -1, -1}, -1, start.data()[k], 0, k, rest.data()[0].data()[k], -1,
             {});
      reduce(lists.data()[k], 0);
    }
    lists = level(0, last, static_cast<label_lists&&>(lists), rest, -1, {});
    int best = -1;
    double found = known_;
    std::int64_t most = limit_;
    for (auto const& list : lists)
      for (int const l : list) {
        label const& it = labels_.data()[l];
        std::int64_t const memory = memory_.whole(it.memory, it.choice);
        if (priced_ == nullptr ? memory > most : memory > limit_ || it.time >= found) continue;
        found = it.time, best = l, most = memory;
      }
    for (int l = best; l >= 0; l = labels_.data()[l].parent)
      choice.data()[labels_.data()[l].element] = labels_.data()[l].choice;
    return found;
  }

  /// Returns the number of labels (partial plans) that may still be made.
  constexpr std::int64_t effort_left() const { return effort_ > 0 ? effort_ : 0; }

  /// Returns whether the result is exact: no label was discarded because of `width` or `effort`.
  constexpr bool complete() const { return complete_; }

 private:
  struct label {
    double time;
    std::int64_t counted, least;
    memory_so_far memory;
    int parent, element, choice;
  };
  /// Per choice of one element: the indices in labels_ of the partial plans that end with this
  /// choice.
  using label_lists = scratch<std::vector<int>>;

  /// Extends a label (a partial plan) by one element and adds the result to the candidates, unless
  /// a bound of time or memory excludes it.
  ///   before     the label to extend
  ///   parent     the index of `before` in labels_
  ///   boundary   the weight of the moves in front of element i
  ///   i, k       the new element and its choice
  ///   rest       the least cost of all elements after i
  ///   outer      the choice of the enclosing residual block, or -1
  ///   outside    if i is the end of a residual block: the result of chain_memory::outside_of for
  ///              its begin
  constexpr void extend(label const& before, int parent, double boundary, int i, int k, double rest,
                        int outer, held_by_residuals const& outside) {
    if (--effort_ < 0) {
      complete_ = false;
      return;
    }
    auto const& own = model_.memory(i, k);
    std::int64_t const counted = before.counted + counted_.bytes(i, own);
    double time = before.time;
    if (priced_ != nullptr) {
      time += boundary;
      if (model_.kind(i) != element_kind::residual_end) time += model_.choices(i).weight.data()[k];
      if (time + price_ * double(counted - limit_) + rest >= known_) return;
    }
    auto const memory = memory_.next(before.memory, i, before.choice, k, outer, outside);
    std::int64_t const least = after_.least_of(memory, i);
    if (least + after_.lasting(i) > limit_) return;
    candidates_.push_back({time, counted, least, memory, parent, i, k});
  }

  /// Replaces `list` by the Pareto-optimal labels (partial plans) among the candidates. All
  /// candidates end with the same choice of element i. At most `width_` labels are stored, those of
  /// least time + price · counted memory.
  constexpr void reduce(std::vector<int>& list, int i) {
    list.clear();
    // A label is compared with those that were kept before it. In this order, most labels come
    // after the labels that dominate them, so few labels are kept that are dominated later.
    std::sort(candidates_.begin(), candidates_.end(), [price = price_](auto& a, auto& b) {
      double const pa = a.time + price * double(a.counted), pb = b.time + price * double(b.counted);
      return pa != pb             ? pa < pb
             : a.time != b.time   ? a.time < b.time
             : a.least != b.least ? a.least < b.least
                                  : a.parent < b.parent;
    });
    std::int64_t const later = after_.synchronize(i);
    for (label const& l : candidates_) {
      bool dominated = false;
      int const n = static_cast<int>(list.size());
      for (int f = 0; f < n && !dominated; ++f) {
        label const& other = labels_.data()[list.data()[f]];
        dominated = other.time <= l.time && other.memory.is_within(l.memory, l.least, later);
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

  /// Returns a matrix [i][k]: the least cost of all elements after element i if element i takes
  /// choice k. The matrix has rows for the elements first .. last, but not for elements inside
  /// further residual blocks. `after` is the row of `last`. If the search ignores time, all costs
  /// are 0.
  constexpr scratch<scratch<double>> what_follows(int first, int last,
                                                  scratch<double> const& after) {
    scratch<scratch<double>> rest(static_cast<std::size_t>(model_.size()));
    if (priced_ != nullptr) {
      priced_->backward(first, last, after, rest);
      return rest;
    }
    for (int i = first; i <= last; ++i)
      rest.data()[i] = scratch<double>(static_cast<std::size_t>(model_.choices(i).size()));
    return rest;
  }

  /// Extends labels (partial plans) from element `first` to element `last`, which are inside the
  /// same residual blocks. Returns the labels of `last`.
  ///   lists   the labels of `first`
  ///   rest    the result of what_follows for these elements
  ///   outer   the choice of the innermost enclosing residual block, or -1
  ///   held    the bytes that all enclosing residual blocks hold
  constexpr label_lists level(int first, int last, label_lists lists,
                              scratch<scratch<double>> const& rest, int outer,
                              held_by_residuals const& held) {
    for (int i = first;;) {
      if (model_.kind(i) == element_kind::residual_begin) {
        int const end = model_.partner(i);
        for (int r = 0; r < static_cast<int>(lists.size()); ++r)
          if (!lists.data()[r].empty())
            lists.data()[r] = through(i, end, r, lists.data()[r], rest.data()[end].data()[r], held);
        i = end;
      }
      if (i >= last) return lists;
      int const next = model_.choices(i + 1).size();
      label_lists result(static_cast<std::size_t>(next));
      double const* const ways = model_.boundary(i);
      for (int k = 0; k < next; ++k) {
        for (int j = 0; j < static_cast<int>(lists.size()); ++j)
          for (int const l : lists.data()[j])
            extend(labels_.data()[l], l, ways[j * next + k], i + 1, k, rest.data()[i + 1].data()[k],
                   outer, {});
        reduce(result.data()[k], i + 1);
      }
      lists = static_cast<label_lists&&>(result);
      ++i;
    }
  }

  /// Extends labels (partial plans) from the begin of a residual block to its end. Both take choice
  /// `r`. Returns the labels of the end.
  ///   list       the labels of the begin
  ///   rest       the least cost of all elements after the end
  ///   in_front   the bytes that the enclosing residual blocks hold
  constexpr std::vector<int> through(int begin, int end, int r, std::vector<int> const& list,
                                     double rest, held_by_residuals const& in_front) {
    std::vector<int> result;
    auto const held = labels_.data()[list.data()[0]].memory.residuals;
    auto const outside = memory_.outside_of(in_front, held);
    auto const arrive = [&](std::vector<int> const& from, double way) {
      for (int const l : from) extend(labels_.data()[l], l, way, end, r, rest, r, outside);
    };
    if (end == begin + 1) {
      arrive(list, model_.boundary(begin)[r * model_.choices(end).size() + r]);
      reduce(result, end);
      return result;
    }
    int const n = model_.choices(begin + 1).size(), before = model_.choices(end - 1).size();
    double const *const from = model_.boundary(begin) + r * n,
                        *const to = model_.boundary_from_right(end - 1) + r * before;
    scratch<double> after(static_cast<std::size_t>(before));
    for (int k = 0; k < before; ++k) after.data()[k] = to[k] + rest;
    auto const within = what_follows(begin + 1, end - 1, after);
    label_lists lists(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      for (int const l : list)
        extend(labels_.data()[l], l, from[k], begin + 1, k, within.data()[begin + 1].data()[k], r,
               {});
      reduce(lists.data()[k], begin + 1);
    }
    lists = level(begin + 1, end - 1, static_cast<label_lists&&>(lists), within, r, held);
    for (int k = 0; k < static_cast<int>(lists.size()); ++k) arrive(lists.data()[k], to[k]);
    reduce(result, end);
    return result;
  }

  chain_model<N>& model_;
  chain_memory<N> memory_;
  counted_memory<N> const& counted_;
  chain_solver<N>* priced_;
  double price_;
  std::int64_t limit_;
  double known_;
  int width_;
  std::int64_t effort_;  ///< number of labels (partial plans) that may still be made
  bool complete_ = true;
  still_to_come<N> after_;
  std::vector<label> labels_, candidates_;
};

}  // namespace ashlar::search
