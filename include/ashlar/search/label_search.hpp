// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest choices of a chain that fit a memory limit, exactly, by label setting (as for
// resource-constrained shortest paths). A label is a partial plan with its time and its memory so
// far (step/memory_fold.hpp). Each choice of each element keeps the Pareto-optimal labels that end
// with it. A label is discarded as soon as one of two bounds shows that it cannot win:
//
//   memory   A completed plan needs at least the peak of the label so far, and at least the bytes
//            that the label holds now plus a lower bound for later elements (still_to_come.hpp).
//            The label is discarded if either of the two exceeds the limit.
//   time     The label is discarded if time + price · (counted memory - limit) + rest is no less
//            than the time of the best known plan. Here rest is the optimum of the remaining
//            elements under time + price · counted memory (counted_memory.hpp), computed by
//            chain_solver.
//
// With the price that solves the Lagrangian dual few labels are left. The optimum is the same for
// any price.
//
// Many equal blocks produce many labels of almost equal cost. Each choice keeps at most `width` of
// them, the most promising ones, as in beam search. The search gives up after `effort` labels.
// `complete` tells whether neither limit discarded a label.

#include <algorithm>

#include <ashlar/search/chain_memory.hpp>
#include <ashlar/search/chain_solver.hpp>
#include <ashlar/search/still_to_come.hpp>

namespace ashlar::search {

namespace detail {

inline constexpr int label_width = 400;
inline constexpr int label_beam = 4;
inline constexpr std::int64_t label_effort = 20'000'000;  ///< takes some seconds

}  // namespace detail

template <int N>
class label_search {
 public:
  /// Prepares a search. `price` and `counted` are the arguments with which `priced` was made. If
  /// `priced` is null, time is ignored and the plan of least memory is found. `known` is the weight
  /// to beat. For `width` and `effort` see above.
  constexpr label_search(chain_model<N>& model, chain_solver<N>* priced, double price,
                         counted_memory<N> const& counted, std::int64_t limit, double known,
                         int width, std::int64_t effort)
      : model_(model), memory_(model), counted_(counted), priced_(priced), price_(price),
        limit_(limit), known_(known), width_(width), effort_(effort), after_(model) {}

  /// Looks for choices of less weight than `known`. If there are any, writes the best ones into
  /// `choice` and returns their weight; else returns `known`. If `priced` is null, looks for the
  /// choices of least memory.
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

  /// Returns the number of labels that could still be made.
  constexpr std::int64_t effort_left() const { return effort_ > 0 ? effort_ : 0; }

  /// Returns whether no label was discarded because of `width` or `effort`, so that the result is
  /// exact.
  constexpr bool complete() const { return complete_; }

 private:
  struct label {
    double time;
    std::int64_t counted, least;
    memory_so_far memory;
    int parent, element, choice;
  };
  using label_lists = scratch<std::vector<int>>;  ///< indices of the labels of each choice of an
                                                  ///< element

  /// Adds a candidate, unless a bound excludes it: label `before`, extended over a boundary by
  /// choice `k` of element `i`. `outer` is the choice of the enclosing residual. For a residual's
  /// end, `outside` is what was held before its begin.
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

  /// Replaces `list` by the Pareto-optimal candidates, at most `width_` of them, the most promising
  /// first.
  constexpr void reduce(std::vector<int>& list, int i) {
    list.clear();
    // Sorted so that a label usually comes after those that dominate it.
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

  /// Returns per element of a nesting level the cost of what follows each of its choices. `after`
  /// is the cost of what follows the choices of `last`.
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

  /// Returns the labels of element `last`, given those of `first`, on one nesting level inside a
  /// residual of choice `outer`, where the enclosing residuals hold `held` bytes. `rest` contains
  /// per element of the level the cost of what follows each of its choices.
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

  /// Returns the labels at the end of a residual in choice `r`, given those at its begin.
  /// `in_front` is what was held before the residual.
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
  std::int64_t effort_;  ///< number of labels that may still be made
  bool complete_ = true;
  still_to_come<N> after_;
  std::vector<label> labels_, candidates_;
};

}  // namespace ashlar::search
