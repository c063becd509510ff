// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the exact optimum of a chain by dynamic programming (the Viterbi recurrence). An element
// of the chain is a layer, an end of a residual block, or the begin, turn or end of a branch.
// V_i[k] is the least cost of the elements up to i if element i takes choice k.
//
//   layer      V_{i+1}[k] = own_{i+1}[k] + min_j ( V_i[j] + boundary_i[j][k] )
//   residual   Begin and end take the same choice r, so V_end[r] = V_begin[r] + inside[r]. Here
//              inside[r] is the optimum of the elements between them if both ends take r. The array
//              inside[] is the diagonal of a (min, +) product of the boundary matrices. The product
//              is computed from the element with the fewest choices towards both ends.
//
//   branch     The begin takes a choice r and the end a choice s. Together they determine the
//              placements of the turn between the two nets. So
//              V_end[s] = own_end[s] + min_r ( V_begin[r] + across[r][s] ). Here across[r][s] is
//              the sum of two optima: of the first net from the begin to the turn, and of the
//              second net from the turn to the end (branch_tables.hpp).
//
// inside[] depends only on the residual block and across[] only on the branch, so equal blocks and
// equal branches are solved once. chain_path.hpp finds the choices that attain the optimum.

#include <ashlar/config.hpp>
#include <ashlar/search/branch_tables.hpp>
#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/chain_path.hpp>
#include <ashlar/search/counted_memory.hpp>

namespace ashlar::search {

template <int N, class Paths = tabulated_moves>
class chain_solver {
 public:
  /// Prepares the minimization of the weight of a plan (its seconds, plus a tiny amount per
  /// collective).
  constexpr explicit chain_solver(chain_model<N, Paths>& model)
      : model_(model), start_(model.from_source()),
        own_(static_cast<std::size_t>(model.classes())) {
    for (int k = 0; k < model.classes(); ++k) own_.data()[k] = model.class_at(k).weight;
  }

  /// Prepares the search for the plan with the least w + price · counted memory. Here w is the sum
  /// of the plan's costs in the model, in seconds, and the price is in seconds per byte. Counted
  /// memory (counted_memory.hpp) is a lower bound of a plan's memory.
  constexpr chain_solver(chain_model<N, Paths>& model, double price,
                         counted_memory<N> const& counted)
      : model_(model), start_(model.from_source()), counted_(price == 0 ? nullptr : &counted),
        own_(static_cast<std::size_t>(model.classes() * parts())) {
    for (int i = 0; i < model.size(); ++i) {
      if (model.is_determined(i)) continue;
      choice_class const& c = model.choices(i);
      scratch<double>& own = own_.data()[index(i)];
      if (own.size() > 0) continue;
      own = c.weight;
      if (price == 0) continue;
      for (int j = 0; j < c.size(); ++j)
        own.data()[j] += price * double(counted.bytes(i, c.memory.data()[j]));
    }
  }

  constexpr chain_model<N, Paths>& model() { return model_; }

  /// Returns the least cost of a path (one choice per element): its weight plus the price of its
  /// memory.
  constexpr double solve() { return minimum(forward(0, model_.size() - 1, start_, nullptr)); }

  /// Returns the path (one choice index per element) of least cost.
  constexpr scratch<int> path() { return chain_path<chain_solver>(*this).find(start_); }

  /// Returns the cost of a path (one choice index per element): its weight plus the price of its
  /// memory.
  constexpr double weight_of(scratch<int> const& choice) {
    double sum = start_.data()[choice.data()[0]];
    for (int i = 0; i < model_.size(); ++i) {
      if (!model_.is_determined(i)) sum += own(i, choice.data()[i]);
      if (i + 1 < model_.size())
        sum += between(i, choice.data()[model_.left_of(i)], choice.data()[i + 1]);
    }
    return sum;
  }

  /// Returns the least cost of everything inside the residual block that begins at element `begin`,
  /// for each choice r of its two ends.
  constexpr double const* inside(int begin) {
    int const end = model_.partner(begin);
    int const known = static_cast<int>(blocks_.size());
    for (int b = 0; b < known; ++b)
      if (alike(blocks_.data()[b].begin, begin)) return blocks_.data()[b].value.data();
    int const n = model_.choices(begin).size();
    scratch<double> value(static_cast<std::size_t>(n), unreachable);
    double* const out = value.data();
    if (end == begin + 1)
      for (int r = 0; r < n; ++r) out[r] = between(begin, r, r);
    // There are two ways to compute the results. The usual one computes them for all r at once.
    // `cut` is the element inside the block with the fewest choices. For each choice of `cut`, the
    // recurrence runs once from `cut` to each end of the block. If the ends have even fewer choices
    // than `cut`, it is faster to compute the result for each r alone.
    int const cut = end == begin + 1 ? -1 : narrowest(begin, end);
    int width = cut < 0 ? 0 : model_.choices(cut).size();
    if (n < width && !ASHLAR_IN_COMPILER) {
      for (int r = 0; r < n; ++r) out[r] = inside_of(begin, r);
      width = 0;
    }
    for (int k = 0; k < width; ++k) {
      auto const [left, right] = halves(begin, cut, k);
      double const *const l = left.data(), *const r = right.data();
      for (int j = 0; j < n; ++j) out[j] = l[j] + r[j] < out[j] ? l[j] + r[j] : out[j];
    }
    blocks_.push_back({begin, static_cast<scratch<double>&&>(value)});
    return blocks_.data()[blocks_.size() - 1].value.data();
  }

  /// Returns inside(begin)[r] without computing the other entries.
  constexpr double inside_of(int begin, int r) {
    int const end = model_.partner(begin);
    if (end == begin + 1) return between(begin, r, r);
    scratch<double> value = forward(begin + 1, end - 1, leaving(begin, r), nullptr);
    auto const last = arriving(end, r);
    for (std::size_t k = 0; k < value.size(); ++k) value.data()[k] += last.data()[k];
    return minimum(value);
  }

  /// Returns the sum of the least costs of the two nets of the branch that begins at element
  /// `begin`, for each pair of choices: [choice of the begin][choice of the end].
  constexpr double const* across(int begin) { return branches_.find(*this, begin); }

  /// Returns whether the residual blocks or branches that begin at elements a and b are equal and
  /// have equal costs, including the price of memory.
  constexpr bool alike(int a, int b) const {
    if (!model_.alike(a, b)) return false;
    for (int i = 0; counted_ != nullptr && i <= model_.end(a) - a; ++i)
      if (counted_->part(a + i) != counted_->part(b + i)) return false;
    return true;
  }

  /// Returns the cost of element i of the chain for each of its choices, without the moves to and
  /// from its neighbours. This cost includes the price of the element's memory.
  constexpr scratch<double> const& own(int i) const { return own_.data()[index(i)]; }

  constexpr double own(int i, int choice) const { return own(i).data()[choice]; }

  /// Returns the cost of the moves between elements i and i + 1 of the chain, for one choice of
  /// each.
  constexpr double between(int i, int left, int right) {
    return model_.boundary(i)[left * model_.choices(i + 1).size() + right];
  }

  /// Returns the costs of the moves between elements i and i + 1 of the chain. Element i takes
  /// choice r; the result has one entry per choice of element i + 1.
  constexpr scratch<double> leaving(int i, int r) {
    int const n = model_.choices(i + 1).size();
    scratch<double> row(static_cast<std::size_t>(n));
    double const* const from = model_.boundary(i) + r * n;
    for (int k = 0; k < n; ++k) row.data()[k] = from[k];
    return row;
  }

  /// Returns the costs of the moves between elements i - 1 and i of the chain. Element i takes
  /// choice r; the result has one entry per choice of element i - 1.
  constexpr scratch<double> arriving(int i, int r) {
    int const n = model_.choices(i).size(), before = model_.choices(i - 1).size();
    scratch<double> column(static_cast<std::size_t>(before));
    double const* const from = model_.boundary(i - 1);
    for (int j = 0; j < before; ++j) column.data()[j] = from[j * n + r];
    return column;
  }

  /// Returns the end of the residual block or branch that begins at element i, or i if none begins
  /// there.
  constexpr int skip_inside(int i) const { return model_.end(i); }

  /// Runs the dynamic program from element `first` to element `last`, which are inside the same
  /// residual blocks. value[k] is the cost of everything before choice k of `first`. Returns the
  /// optimal cost up to each choice of `last`. If `all` is not null, (*all)[i] receives the optimal
  /// costs up to each element i on the way, except for elements inside further residual blocks or
  /// branches.
  constexpr scratch<double> forward(int first, int last, scratch<double> value,
                                    scratch<scratch<double>>* all) {
    add_own(first, value);
    for (int i = first;;) {
      if (all != nullptr) all->data()[i] = value;
      int const end = skip_inside(i);
      if (model_.kind(i) == element_kind::branch_begin) {
        value = product(value, across(i), model_.choices(end).size());
        add_own(i = end, value);
        if (all != nullptr) all->data()[i] = value;
      } else if (end != i) {
        double const* const within = inside(i);
        for (int r = 0; r < static_cast<int>(value.size()); ++r) value.data()[r] += within[r];
        i = end;
        if (all != nullptr) all->data()[i] = value;
      }
      if (i >= last) return value;
      value = advance(i, value);
      add_own(++i, value);
    }
  }

  /// Runs the dynamic program backwards from element `last` to element `first`, which are inside
  /// the same residual blocks. value[k] is the cost of everything after choice k of `last`.
  /// all[i][k] becomes the least cost of everything after choice k of element i.
  constexpr void backward(int first, int last, scratch<double> value,
                          scratch<scratch<double>>& all) {
    for (int i = last;;) {
      all.data()[i] = value;
      if (model_.kind(i) == element_kind::residual_end) {
        int const begin = model_.partner(i);
        double const* const within = inside(begin);
        for (int r = 0; r < static_cast<int>(value.size()); ++r) value.data()[r] += within[r];
        i = begin;
        all.data()[i] = value;
      } else if (ends_branch(model_.kind(i))) {
        add_own(i, value);
        i = model_.partner(i);
        value = branch_tables::back(across(i), model_.choices(i).size(), value);
        all.data()[i] = value;
      }
      if (i <= first) return;
      add_own(i, value);
      value = retreat(i - 1, value);
      --i;
    }
  }

  /// Advances the dynamic program from element i to i + 1: adds the cost of the moves between them,
  /// but not the cost of element i + 1 itself.
  constexpr scratch<double> advance(int i, scratch<double> const& value) {
    return product(value, model_.boundary(i), model_.choices(i + 1).size());
  }

  /// Advances the backward dynamic program from element i + 1 to i: adds the cost of the moves
  /// between them. `value` already contains the cost of element i + 1; the cost of element i is not
  /// added.
  constexpr scratch<double> retreat(int i, scratch<double> const& value) {
    return product(value, model_.boundary_from_right(i), model_.choices(i).size());
  }

  struct two_halves {
    scratch<double> left, right;
  };

  /// Splits the cost of a residual block at choice k of the element `cut` inside it. For each
  /// choice of the block's two ends, returns two least costs: from the begin to `cut` (`left`), and
  /// from `cut` to the end (`right`). The cost of `cut` itself is part of `left` only. If k is -1,
  /// each half may take any choice of `cut`.
  constexpr two_halves halves(int begin, int cut, int k) {
    int const end = model_.partner(begin), width = model_.choices(cut).size();
    scratch<double> one(static_cast<std::size_t>(width), k < 0 ? 0 : unreachable);
    if (k >= 0) one.data()[k] = 0;
    scratch<scratch<double>> rest(static_cast<std::size_t>(model_.size()));
    backward(begin + 1, cut, one, rest);
    add_own(begin + 1, rest.data()[begin + 1]);
    auto left = retreat(begin, rest.data()[begin + 1]);
    for (int j = 0; j < width; ++j)
      if (k < 0 || j == k)
        one.data()[j] = -own(cut, j);  // The own cost of `cut` is counted in the left half.
    return {static_cast<scratch<double>&&>(left),
            advance(end - 1, forward(cut, end - 1, one, nullptr))};
  }

 private:
  /// Computes result[k] = min_j ( value[j] + way[j][k] ).
  static constexpr scratch<double> product(scratch<double> const& value, double const* way,
                                           int width) {
    scratch<double> result(static_cast<std::size_t>(width), unreachable);
    double* const out = result.data();
    int const n = static_cast<int>(value.size());
    for (int j = 0; j < n; ++j, way += width) {
      double const v = value.data()[j];
      if (v >= unreachable) continue;
      for (int k = 0; k < width; ++k) out[k] = v + way[k] < out[k] ? v + way[k] : out[k];
    }
    return result;
  }

  struct block {
    int begin;
    scratch<double> value;
  };

  static constexpr double minimum(scratch<double> const& value) {
    double least = unreachable;
    for (double const v : value) least = v < least ? v : least;
    return least;
  }

  /// Returns the element with the fewest choices inside a residual block. Elements inside nested
  /// blocks do not count.
  constexpr int narrowest(int begin, int end) const {
    int best = begin + 1;
    for (int i = begin + 1; i < end; i = skip_inside(i) + 1)
      if (model_.choices(i).size() < model_.choices(best).size()) best = i;
    return best;
  }

  /// Adds the cost of element i itself to `value`, for each of its choices. For the begin of a
  /// residual block, this is the cost of both ends.
  constexpr void add_own(int i, scratch<double>& value) const {
    if (model_.kind(i) == element_kind::residual_end) return;
    double const* const own = own_.data()[index(i)].data();
    double* const v = value.data();
    int const n = static_cast<int>(value.size());
    for (int k = 0; k < n; ++k) v[k] += own[k];
  }

  /// Costs of elements are stored per class of equal elements. If memory has a price, the cost of
  /// an element also depends on which of its bytes are counted (counted_part).
  constexpr int parts() const { return counted_ == nullptr ? 1 : counted_parts; }
  constexpr int index(int i) const {
    int const part = counted_ == nullptr ? 0 : static_cast<int>(counted_->part(i));
    return model_.class_index(i) * parts() + part;
  }

  chain_model<N, Paths>& model_;
  scratch<double> start_;
  counted_memory<N> const* counted_ = nullptr;  ///< null if memory has no price
  scratch<scratch<double>> own_;
  std::vector<block> blocks_;
  branch_tables branches_;
};

}  // namespace ashlar::search
