// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the labels (partial plans) of label_search.hpp: how a label is extended by one element,
// which bounds discard it, and which labels with the same last choice dominate each other.

#include <algorithm>
#include <vector>

#include <ashlar/search/chain_memory.hpp>
#include <ashlar/search/chain_solver.hpp>
#include <ashlar/search/still_to_come.hpp>

namespace ashlar::search {

template <int N>
class label_set {
 public:
  /// Returns the number of labels (partial plans) that may still be made.
  constexpr std::int64_t effort_left() const { return effort_ > 0 ? effort_ : 0; }

  /// Returns whether the result is exact: no label was discarded because of `width` or `effort`.
  constexpr bool complete() const { return complete_; }

 protected:
  /// A partial plan: the choices of the first elements of the chain. `counted` is its counted
  /// memory (counted_memory.hpp). `least` is the bound of still_to_come::least_of for plans that
  /// begin with it.
  struct label {
    double time;
    std::int64_t counted, least;
    memory_so_far memory;
    int parent, element, choice;
  };
  /// Per choice of one element: the indices in labels_ of the partial plans that end with this
  /// choice.
  using label_lists = scratch<std::vector<int>>;

  constexpr label_set(chain_model<N>& model, chain_solver<N>* priced, double price,
                      counted_memory<N> const& counted, std::int64_t limit, double known, int width,
                      std::int64_t effort)
      : model_(model), counted_(counted), priced_(priced), price_(price), limit_(limit),
        known_(known), width_(width), effort_(effort), after_(model) {}

  /// Returns whether a plan can have less weight than known_ if its first elements have the weight
  /// `time` and `counted` bytes of counted memory. `rest` is the least cost of all later elements.
  constexpr bool is_below(double time, std::int64_t counted, double rest) const {
    return time + price_ * double(counted - limit_) + rest < known_;
  }

  /// Extends a label (a partial plan) by one element and adds the result to the candidates, unless
  /// a bound of time or memory excludes it.
  ///   before     the label to extend
  ///   parent     the index of `before` in labels_
  ///   boundary   the weight of the moves in front of element i
  ///   i, k       the new element and its choice
  ///   rest       the least cost of all elements after i
  ///   memory     returns the memory of the new label
  template <class Memory>
  constexpr void extend(label const& before, int parent, double boundary, int i, int k, double rest,
                        Memory const& memory) {
    if (--effort_ < 0) {
      complete_ = false;
      return;
    }
    std::int64_t const counted = before.counted + counted_.bytes(i, model_.memory(i, k));
    double time = before.time;
    if (priced_ != nullptr) {
      time += boundary;
      if (!model_.is_determined(i)) time += model_.choices(i).weight.data()[k];
      if (!is_below(time, counted, rest)) return;
    }
    auto const needed = memory();
    std::int64_t const least = after_.least_of(needed, i);
    if (least + after_.lasting(i) > limit_) return;
    candidates_.push_back({time, counted, least, needed, parent, i, k});
  }

  /// Replaces `list` by the candidates (partial plans), but leaves out almost all dominated ones
  /// (see below). All candidates end with the same choice of element i. At most `width_` labels are
  /// stored, those of least time + price · counted memory.
  constexpr void reduce(std::vector<int>& list, int i) {
    list.clear();
    // A label is compared only with labels that were kept before it. In this order, most labels
    // come after the labels that dominate them, so few dominated labels are kept.
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

  chain_model<N>& model_;
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
