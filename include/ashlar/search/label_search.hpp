// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest choices of a chain that fit a memory limit, exactly: dynamic programming over labels
// (time, memory so far; memory_fold.hpp), of which each choice of each element keeps the Pareto set.
// A label goes as soon as one of two bounds shows that it cannot win:
//
//   memory   the most so far + the least that every later element keeps for the whole step  >  limit, or
//            kept so far + the least that every later element keeps + above_kept            >  limit
//   time     time + price · (kept + above_kept - limit) + rest      >= the best plan known
//
// where kept is what elements keep between their passes, above_kept the least that a step needs besides,
// and rest the optimum of what follows under time + price · kept, by chain_solver. With the price that
// solves the Lagrangian dual few labels are left; any price gives the same optimum.
//
// Many equal blocks make many labels of almost one cost. Each choice keeps at most `width` of them,
// the most promising, and the search gives up after `effort` labels; `complete` tells whether that
// left out any.

#include <algorithm>

#include <ashlar/search/chain_solver.hpp>

namespace ashlar::search {

namespace detail {

inline constexpr int label_width = 400;
inline constexpr int label_beam = 4;
inline constexpr std::int64_t label_effort = 20'000'000;  ///< some seconds

/// Bytes that every plan needs at some moment above what its elements keep between their passes, at
/// least: while the last element runs, or while the last recomputed segment has just been made again.
template <int N>
constexpr std::int64_t above_kept(chain_model<N> const& model) {
  auto const least = [&model](int i, auto const& of) {
    std::int64_t found = -1;
    for (int j = 0; j < model.choices(i).size(); ++j) {
      std::int64_t const bytes = of(model.memory(i, j));
      found = found < 0 || bytes < found ? bytes : found;
    }
    return found;
  };
  auto const most = [&model](int i, auto const& of) {
    std::int64_t found = 0;
    for (int j = 0; j < model.choices(i).size(); ++j)
      found = std::max<std::int64_t>(found, of(model.memory(i, j)));
    return found;
  };
  auto const held = [](element_bytes const& bytes) { return bytes.held; };
  auto const& net = model.net();
  int const last = model.size() - 1, again = model.recomputed();
  bool const once = net.runs(last, again) == forward_runs::once;
  std::int64_t above = least(last, [once](element_bytes const& bytes) {
    return once ? std::max(bytes.forward - bytes.saved, bytes.backward) : bytes.forward;
  });
  std::int64_t made_again = 0;
  int i = last;
  for (; i >= 0 && net[i].segment != again - 1; --i) made_again -= most(i, held);
  if (again > 0 && i >= 0) {
    for (; i >= 0 && net[i].segment == again - 1; --i)
      made_again += least(i, [](element_bytes const& bytes) { return bytes.saved; });
    above = std::max(above, made_again - most(i + 1, held));
  }
  return above;
}

}  // namespace detail

template <int N>
class label_search {
 public:
  /// `price`: what `priced` was made with; without `priced`, nothing costs time, and the plan of least
  /// memory is found. `known`: weight to beat. `width`, `effort`: see above.
  constexpr label_search(chain_model<N>& model, chain_solver<N>* priced, double price,
                         std::int64_t limit, double known, int width, std::int64_t effort)
      : model_(model), fold_(model.net(), model.recomputed(), model.paths().mesh().ranks()),
        priced_(priced), price_(price), limit_(limit), known_(known), width_(width),
        effort_(effort), above_(detail::above_kept(model)),
        after_(static_cast<std::size_t>(model.size())) {
    for (int i = model.size() - 1; i > 0; --i) {
      still_to_come &before = after_.data()[i - 1], &here = after_.data()[i];
      before.lasting = here.lasting + least(i, [](auto const& bytes) { return bytes.lasting; });
      before.kept = here.kept + least(i, [](auto const& bytes) { return bytes.kept(); });
      for (int j = 0; j < model.choices(i).size(); ++j) {
        auto const& bytes = model.memory(i, j);
        before.synchronize = std::max({before.synchronize, bytes.synchronize,
                                       bytes.gradients + here.synchronize});
      }
    }
  }

  /// Looks for choices of less weight than `known`. If there are, writes the best into `choice`,
  /// whose weight is returned; else returns `known`. Without `priced`: for those of least memory.
  constexpr double improve(scratch<int>& choice) {
    int const n = model_.choices(0).size(), last = model_.size() - 1;
    auto const start = model_.from_source();
    scratch<double> const nothing(static_cast<std::size_t>(model_.choices(last).size()));
    auto const rest = what_follows(0, last, nothing);
    label_lists lists(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      extend({0, 0, {}, -1, -1, -1}, -1, start.data()[k], 0, k, rest.data()[0].data()[k], -1, {});
      reduce(lists.data()[k], 0);
    }
    lists = level(0, last, static_cast<label_lists&&>(lists), rest, -1, {});
    int best = -1;
    double found = known_;
    std::int64_t most = limit_;
    for (auto const& list : lists)
      for (int const l : list) {
        label const& it = labels_.data()[l];
        std::int64_t const memory = fold_.whole(it.memory, model_.memory(last, it.choice));
        if (priced_ == nullptr ? memory > most : memory > limit_ || it.time >= found) continue;
        found = it.time, best = l, most = memory;
      }
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
    std::int64_t kept;
    memory_so_far memory;
    int parent, element, choice;
  };
  using label_lists = scratch<std::vector<int>>;  ///< per choice of an element: its labels

  /// What all elements behind one add, at least; the synchronization of one of them: at most.
  struct still_to_come {
    std::int64_t lasting = 0, kept = 0, synchronize = 0;
  };

  template <class Of>
  constexpr std::int64_t least(int i, Of const& of) const {
    std::int64_t found = -1;
    for (int j = 0; j < model_.choices(i).size(); ++j) {
      std::int64_t const bytes = of(model_.memory(i, j));
      found = found < 0 || bytes < found ? bytes : found;
    }
    return found;
  }

  /// Adds a candidate: the label of choice `k` of element `i`, coming from `before` over a boundary.
  /// `outer`: the choice of the residual around it; `outside`: of a residual's end, what was held in front
  /// of its begin.
  constexpr void extend(label const& before, int parent, double boundary, int i, int k, double rest,
                        int outer, held_by_residuals const& outside) {
    if (--effort_ < 0) {
      complete_ = false;
      return;
    }
    auto const& own = model_.memory(i, k);
    std::int64_t const kept = before.kept + own.kept();
    if (kept + after_.data()[i].kept + above_ > limit_) return;
    double time = before.time;
    if (priced_ != nullptr) {
      time += boundary;
      if (model_.kind(i) != element_kind::residual_end) time += model_.choices(i).weight.data()[k];
      if (time + price_ * double(kept + above_ - limit_) + rest >= known_) return;
    }
    element_bytes const* const last = parent < 0 ? nullptr : &model_.memory(i - 1, before.choice);
    auto const memory = fold_.next(before.memory, i, last, own, model_.moves(i, before.choice, k),
                                   model_.gradient_held(fold_, i, k, outer), outside);
    if (memory.peak + after_.data()[i].lasting > limit_) return;
    candidates_.push_back({time, kept, memory, parent, i, k});
  }

  /// The Pareto set of the candidates, or its most promising ones, become the labels of `list`.
  constexpr void reduce(std::vector<int>& list, int i) {
    list.clear();
    // What is dominated comes after what dominates it.
    std::sort(candidates_.begin(), candidates_.end(), [price = price_](auto& a, auto& b) {
      double const pa = a.time + price * double(a.kept), pb = b.time + price * double(b.kept);
      return pa != pb                         ? pa < pb
             : a.time != b.time               ? a.time < b.time
             : a.memory.peak != b.memory.peak ? a.memory.peak < b.memory.peak
                                              : a.parent < b.parent;
    });
    std::int64_t const later = after_.data()[i].synchronize;
    for (label const& l : candidates_) {
      bool dominated = false;
      int const n = static_cast<int>(list.size());
      for (int f = 0; f < n && !dominated; ++f) {
        label const& other = labels_.data()[list.data()[f]];
        dominated = other.time <= l.time && other.memory.is_within(l.memory, later);
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

  /// Per element of a level, what follows each of its choices; `after`: the choices of `last`.
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

  /// The labels of `last`, given those of `first`, on one level: inside of a residual of choice `outer`,
  /// where so much is held. `rest`: per element of the level, what follows each of its choices.
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
            extend(labels_.data()[l], l, ways[j * next + k], i + 1, k,
                   rest.data()[i + 1].data()[k], outer, {});
        reduce(result.data()[k], i + 1);
      }
      lists = static_cast<label_lists&&>(result);
      ++i;
    }
  }

  /// The labels at the end of a residual in choice `r`, given those at its begin. `outside`: what was held
  /// in front of it.
  constexpr std::vector<int> through(int begin, int end, int r, std::vector<int> const& list,
                                     double rest, held_by_residuals const& outside) {
    std::vector<int> result;
    auto const arrive = [&](std::vector<int> const& from, double way) {
      for (int const l : from)
        extend(labels_.data()[l], l, way, end, r, rest, r, outside);
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
        extend(labels_.data()[l], l, from[k], begin + 1, k,
               within.data()[begin + 1].data()[k], r, {});
      reduce(lists.data()[k], begin + 1);
    }
    auto const held = labels_.data()[list.data()[0]].memory.residuals;
    lists = level(begin + 1, end - 1, static_cast<label_lists&&>(lists), within, r, held);
    for (int k = 0; k < static_cast<int>(lists.size()); ++k) arrive(lists.data()[k], to[k]);
    reduce(result, end);
    return result;
  }

  chain_model<N>& model_;
  memory_fold<N> fold_;
  chain_solver<N>* priced_;
  double price_;
  std::int64_t limit_;
  double known_;
  int width_;
  std::int64_t effort_;  ///< labels that may still be made
  std::int64_t above_;
  bool complete_ = true;
  scratch<still_to_come> after_;  ///< per element
  std::vector<label> labels_, candidates_;
};

}  // namespace ashlar::search
