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
// Labels are extended through a residual block separately for each choice of its two ends, and
// through a branch separately for each pair of choices of its begin and its end.
//
// Many equal blocks produce many labels of almost equal cost, so the effort has two limits. For
// each choice the search stores at most the `width` most promising labels, as in beam search. After
// making `effort` labels it makes no more. If one of these limits discards a label, complete()
// returns false, and the plan found need not be the optimum. Otherwise the search is exact.

#include <algorithm>

#include <ashlar/search/labels.hpp>

namespace ashlar::search {

namespace detail {

inline constexpr int label_width = 400;
inline constexpr int label_beam = 4;

}  // namespace detail

template <int N>
class label_search : public label_set<N> {
  using base = label_set<N>;
  using base::candidates_;
  using base::labels_;
  using base::limit_;
  using base::model_;
  using base::priced_;
  using base::reduce;
  using typename base::label;
  using typename base::label_lists;

 public:
  /// Prepares a search for plans of at most `limit` bytes per rank.
  ///   priced   a solver of the chain in which each byte costs `price` seconds. If null, the search
  ///            ignores time and finds the plan of least memory
  ///   counted  selects the bytes that cost `price`; their sum is a lower bound of a plan's memory
  ///   known    only plans of less weight are searched for
  ///   width    the most labels (partial plans) that are stored per choice of an element
  ///   effort   the most labels that are made
  constexpr label_search(chain_model<N>& model, chain_solver<N>* priced, double price,
                         counted_memory<N> const& counted, std::int64_t limit, double known,
                         int width, std::int64_t effort)
      : base(model, priced, price, counted, limit, known, width, effort), memory_(model),
        begun_(static_cast<std::size_t>(model.size())) {}

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
      extend({0, 0, 0, {}, -1, -1, -1}, -1, start.data()[k], 0, k, rest.data()[0].data()[k], {}, {},
             {});
      reduce(lists.data()[k], 0);
    }
    lists = level(0, last, static_cast<label_lists&&>(lists), rest, {});
    int best = -1;
    double found = this->known_;
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

 private:
  /// Extends a label by element i, which is not the turn or the end of a branch. The arguments are
  /// those of label_set::extend and three more:
  ///   left       the element in front of element i
  ///   around     the residual block or branch around element i
  ///   outside    if i is the end of a residual block: the result of chain_memory::outside_of for
  ///              its begin
  constexpr void extend(label const& before, int parent, double boundary, int i, int k, double rest,
                        element_in_front const& left, enclosing const& around,
                        held_by_residuals const& outside) {
    base::extend(before, parent, boundary, i, k, rest, [&] {
      if (model_.kind(i) != element_kind::branch_begin)
        return memory_.next(before.memory, i, left, k, around, outside);
      auto& list = begun_.data()[i];
      if (list.size() != static_cast<std::size_t>(model_.choices(i).size())) {
        list = scratch<branch_so_far>(static_cast<std::size_t>(model_.choices(i).size()));
        layer_choice turn;
        for (int r = 0; r < model_.choices(i).size(); ++r)
          list.data()[r].of_second = memory_.turn_of(i, r, 0, turn).dy;
      }
      return memory_.next_of_branch(before.memory, i, left, model_.memory(i, k), k, list.data()[k]);
    });
  }
  /// Extends label number l by element i. The arguments are those of the overload above. Expects
  /// that the element in front of i is not the turn of a branch.
  constexpr void extend(int l, double boundary, int i, int k, double rest, enclosing const& around,
                        held_by_residuals const& outside) {
    label const& before = labels_.data()[l];
    extend(before, l, boundary, i, k, rest, memory_.at(i - 1, before.choice), around, outside);
  }

  /// Returns a matrix [i][k]: the least cost of all elements after element i if element i takes
  /// choice k. The matrix has rows for the elements first .. last, but rows of elements inside
  /// residual blocks and branches between `first` and `last` may be missing. `after` is the row of
  /// `last`. If the search ignores time, all costs are 0.
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
  ///   around  what surrounds the elements
  constexpr label_lists level(int first, int last, label_lists lists,
                              scratch<scratch<double>> const& rest, enclosing const& around) {
    for (int i = first;;) {
      if (std::all_of(lists.begin(), lists.end(), [](auto const& list) { return list.empty(); }))
        return label_lists(static_cast<std::size_t>(model_.choices(last).size()));
      int const end = model_.end(i);
      if (end != i) {
        bool const branch = model_.kind(i) == element_kind::branch_begin;
        int const width = model_.choices(end).size(), begins = static_cast<int>(lists.size());
        label_lists ended(static_cast<std::size_t>(width));
        for (int s = 0; s < width; ++s) {
          std::vector<label> arrived;
          // The begin and the end of a residual block have the same choice.
          for (int r = branch ? 0 : s; r < (branch ? begins : s + 1); ++r)
            for_equally_held(lists.data()[r], [&](std::vector<int> const& list) {
              double const after = rest.data()[end].data()[s];
              if (branch) across(i, r, s, list, after, around);
              else through(i, end, s, list, after);
              arrived.insert(arrived.end(), candidates_.begin(), candidates_.end());
              candidates_.clear();
            });
          candidates_ = static_cast<std::vector<label>&&>(arrived);
          reduce(ended.data()[s], end);
        }
        lists = static_cast<label_lists&&>(ended);
        i = end;
      }
      if (i >= last) return lists;
      int const next = model_.choices(i + 1).size();
      label_lists result(static_cast<std::size_t>(next));
      double const* const ways = model_.boundary(i);
      for (int k = 0; k < next; ++k) {
        for (int j = 0; j < static_cast<int>(lists.size()); ++j)
          for (int const l : lists.data()[j])
            extend(l, ways[j * next + k], i + 1, k, rest.data()[i + 1].data()[k], around, {});
        reduce(result.data()[k], i + 1);
      }
      lists = static_cast<label_lists&&>(result);
      ++i;
    }
  }

  /// Divides a list of labels into parts and calls `run` with each part. All labels of a part hold
  /// equal bytes for residual blocks and branches. These bytes can differ within a list: if a
  /// recomputed segment begins right behind the begin of a block, they depend on whether the input
  /// of the segment is redistributed.
  template <class Run>
  constexpr void for_equally_held(std::vector<int> list, Run const& run) const {
    while (!list.empty()) {
      auto const held = held_in(list);
      std::vector<int> equal, others;
      for (int const l : list)
        (labels_.data()[l].memory.residuals == held ? equal : others).push_back(l);
      run(equal);
      list = static_cast<std::vector<int>&&>(others);
    }
  }

  /// Extends labels (partial plans) from the begin of a residual block to its end. Both ends take
  /// choice `r`. Adds the labels of the end to candidates_.
  ///   list       the labels of the begin, which hold equal bytes (for_equally_held)
  ///   rest       the least cost of all elements after the end
  constexpr void through(int begin, int end, int r, std::vector<int> const& list, double rest) {
    int const parent = labels_.data()[list.data()[0]].parent;
    auto const in_front = parent < 0 ? held_by_residuals{}
                                     : labels_.data()[parent].memory.residuals;
    auto const outside = memory_.outside_of(in_front, held_in(list));
    auto const arrive = [&](int l, double way) { extend(l, way, end, r, rest, {}, outside); };
    int const n = model_.choices(begin + 1).size();
    double const* const from = model_.boundary(begin) + r * n;
    if (end == begin + 1) {
      for (int const l : list) arrive(l, from[r]);
      return;
    }
    enclosing const inside{r, ends_in_sum(model_.net(), end)};
    through_net(
        begin, end, r, what_follows_to(begin, end, r, rest), inside,
        [&](int k, double after) {
          for (int const l : list) extend(l, from[k], begin + 1, k, after, inside, {});
        },
        arrive);
  }

  /// Extends labels through the branch that begins at element `begin`, to its end. The begin takes
  /// choice r. The end and the turn take choice s. Adds the labels of the end to candidates_.
  ///   list     the labels of the begin, which hold equal bytes (for_equally_held)
  ///   rest     the least cost of all elements after the end
  ///   around   what surrounds the branch
  constexpr void across(int begin, int r, int s, std::vector<int> const& list, double rest,
                        enclosing const& around) {
    if (this->effort_left() == 0) {
      this->complete_ = false;
      return;
    }
    int const turn = model_.partner(begin), end = model_.partner(turn);
    double const at_end = priced_ == nullptr ? 0 : priced_->own(end, s);
    if (priced_ != nullptr) {  // Most pairs of r and s cost too much.
      double const after = priced_->across(begin)[r * model_.choices(end).size() + s] + at_end +
                           rest;
      if (std::none_of(list.begin(), list.end(), [&](int l) {
            label const& begun = labels_.data()[l];
            return this->is_below(begun.time, begun.counted, after);
          }))
        return;
    }
    branch_so_far branch = begun_.data()[begin].data()[r];
    auto const held = held_in(list);
    branch.around = {held.forward - branch.x.own, held.backward - branch.of_second,
                     held.again - branch.x.again};
    memory_.set_gradient_of_first(branch, begin, s, around);
    layer_choice turn_choice;
    element_bytes const turn_bytes = memory_.turn_of(begin, r, s, turn_choice);
    auto const second = what_follows_to(turn, end, s, at_end + rest);
    int const n = model_.choices(turn + 1).size();
    double const* const from_turn = model_.boundary(turn) + r * n;
    double least = priced_ == nullptr ? 0 : unreachable;
    for (int k = 0; k < n && priced_ != nullptr; ++k)
      least = std::min(least, from_turn[k] + priced_->own(turn + 1, k) +
                                  second.data()[turn + 1].data()[k]);
    enclosing const in_first{s, branch.is_shared}, in_second{s, ends_in_sum(model_.net(), end)};
    int const width = model_.choices(begin + 1).size();
    double const* const from_begin = model_.boundary(begin) + r * width;
    through_net(
        begin, turn, s, what_follows_to(begin, turn, s, least), in_first,
        [&](int k, double after) {
          for (int const l : list) extend(l, from_begin[k], begin + 1, k, after, in_first, {});
        },
        [&](int l, double way) {
          label const& before = labels_.data()[l];
          base::extend(before, l, way, turn, s, least, [&] {
            return memory_.next_of_branch(before.memory, turn, memory_.at(turn - 1, before.choice),
                                          turn_bytes, s, branch);
          });
        });
    std::vector<int> turned;
    reduce(turned, turn);
    if (turned.empty()) return;
    through_net(
        turn, end, s, second, in_second,
        [&](int k, double after) {
          for (int const l : turned)
            extend(labels_.data()[l], l, from_turn[k], turn + 1, k, after,
                   {&turn_bytes, &turn_choice}, in_second, {});
        },
        [&](int l, double way) {
          label const& before = labels_.data()[l];
          base::extend(before, l, way, end, s, rest, [&] {
            return memory_.next_of_branch(before.memory, end, memory_.at(end - 1, before.choice),
                                          model_.memory(end, s), s, branch);
          });
        });
  }

  /// Extends labels from element `from` to element `to`: from the begin of a residual block to its
  /// end, or through one net of a branch. `to` takes choice s.
  ///   rest              the result of what_follows_to
  ///   around            what surrounds the elements between `from` and `to`
  ///   start(k, after)   makes the candidates for choice k of element from + 1. `after` is the
  ///                     least cost of everything after this element
  ///   arrive(l, way)    extends label l by `to`. `way` is the weight of the moves in front of `to`
  template <class Start, class Arrive>
  constexpr void through_net(int from, int to, int s, scratch<scratch<double>> const& rest,
                             enclosing const& around, Start const& start, Arrive const& arrive) {
    int const n = model_.choices(from + 1).size(), before = model_.choices(to - 1).size();
    label_lists lists(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      start(k, rest.data()[from + 1].data()[k]);
      reduce(lists.data()[k], from + 1);
    }
    lists = level(from + 1, to - 1, static_cast<label_lists&&>(lists), rest, around);
    double const* const way = model_.boundary_from_right(to - 1) + s * before;
    for (int k = 0; k < before; ++k)
      for (int const l : lists.data()[k]) arrive(l, way[k]);
  }

  /// Returns what_follows for the elements between `from` and `to`. `to` takes choice s, and `rest`
  /// is the least cost of `to` and of all that follows.
  constexpr scratch<scratch<double>> what_follows_to(int from, int to, int s, double rest) {
    int const before = model_.choices(to - 1).size();
    double const* const way = model_.boundary_from_right(to - 1) + s * before;
    scratch<double> after(static_cast<std::size_t>(before));
    for (int k = 0; k < before; ++k) after.data()[k] = way[k] + rest;
    return what_follows(from + 1, to - 1, after);
  }

  /// Returns the bytes that residual blocks and branches hold after the first label of a list.
  /// Expects that the list is not empty.
  constexpr held_by_residuals held_in(std::vector<int> const& list) const {
    return labels_.data()[list.data()[0]].memory.residuals;
  }

  chain_memory<N> memory_;
  /// For each begin of a branch and each choice of this begin: what memory_fold knew of the branch
  /// when this choice last extended a label. across() computes the member `around` anew for the
  /// labels that it extends.
  scratch<scratch<branch_so_far>> begun_;
};

}  // namespace ashlar::search
