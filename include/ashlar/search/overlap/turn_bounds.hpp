// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes lower bounds of the seconds of a step in which micro-batches take turns, for the search
// (turn_search.hpp).
//
// A step takes at least as long as each of three paths: one through the work of the processor, and
// one through the transfers of each link. So it takes at least any weighted mean of the paths. Such
// a mean is additive over the chain. So its least value over all elements after a choice is
// computed once per choice, for several coefficients.
//
// If all micro-batches of a step take turns, gradients are synchronized after the whole forward
// pass, and weights are gathered before the whole backward pass. So a step also takes at least the
// work of one pass, plus a weighted mean of two numbers of the other pass: its work, and its moves
// of weights on a link. A single micro-batch waits for its moves, except for the weight gradients
// beside moves of dx. So its waiting counts as work here.

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <ashlar/search/overlap/turn_chain.hpp>

namespace ashlar::search {

class turn_bounds {
 public:
  /// Computes the bounds of a chain. Only steps of fewer than `limit` seconds are of interest.
  turn_bounds(turn_chain const& chain, double limit) : chain_(chain), limit_(limit) {
    for (int i = 0; i < chain.size(); ++i) dead_.emplace_back(at(chain.choices(i)), 0);
    for (int k = 0; k < weights; ++k) tabulate(k);
    for (int on = 0; on < turn_links; ++on) tabulate_load(on);
    if (chain.groups == 1)
      for (int k = 0; k < shares; ++k) tabulate_passes(k);
  }

  /// Returns whether every step with choice c of element i takes `limit` seconds or more.
  bool is_dead(int i, int c) const { return dead_[at(i)][at(c)] != 0; }

  /// Returns the least seconds of work in a step of the elements after element i with choice c.
  double work_behind(int i, int c) const { return chain_.per_step * to_come_[0][at(i)][at(c)]; }

  /// Returns a lower bound of the seconds of a step in which all micro-batches take turns. The
  /// elements up to i, where i has choice c, take `forward` and `backward` seconds in the two
  /// passes. The moves of their weights in pass p take moved[p][l] seconds on link l.
  double behind(int i, int c, double forward, double backward,
                double const (&moved)[2][turn_links]) const {
    double least = 0;
    for (int k = 0; k < shares; ++k) {
      auto const s = share_of(k);
      least = std::max(least, s.work[0] * forward + s.work[1] * backward +
                                  s.moved * moved[s.pass][s.link] +
                                  passes_to_come_[k][at(i)][at(c)]);
    }
    return least;
  }

  /// Returns a lower bound of the seconds of a step. The elements up to i, where i has choice c,
  /// take `processor` and `link` seconds on the paths of a group of micro-batches. `load` are the
  /// busy seconds of each link per group, moves of weights included.
  double behind(int i, int c, double processor, double const (&link)[turn_links],
                double const (&load)[turn_links]) const {
    double least = 0;
    for (int k = 0; k < weights; ++k) {
      auto const& w = weight_of[k];
      double const path = w.processor * processor + w.link[0] * link[0] + w.link[1] * link[1];
      least = std::max(least, chain_.groups * (path + to_come_[k][at(i)][at(c)]));
    }
    for (int on = 0; on < turn_links; ++on)
      least = std::max(least, chain_.per_step * (load[on] + load_to_come_[on][at(i)][at(c)]));
    return least;
  }

 private:
  /// The coefficients of the paths of the processor and of the links in a weighted mean. The first
  /// mean is the processor alone.
  struct weight {
    double processor, link[turn_links];
  };
  static constexpr int weights = 9;
  static constexpr weight weight_of[weights]{
      {1, {0, 0}},       {0, {1, 0}},     {0, {0, 1}},
      {0.5, {0.5, 0}},   {0.5, {0, 0.5}}, {0.75, {0.25, 0}},
      {0.75, {0, 0.25}}, {0, {0.5, 0.5}}, {1 / 3.0, {1 / 3.0, 1 / 3.0}}};

  /// The coefficients of the work of both passes, and of the moves of the layers' weights in pass
  /// `pass` on link `link`, in a weighted mean.
  struct share {
    int pass, link;
    double work[2], moved;
  };
  static constexpr int steps = 5, shares = 2 * turn_links * steps;
  static share share_of(int k) {
    share s{k % 2, k / 2 % turn_links, {1, 1}, 0};
    s.moved = k / (2 * turn_links) / static_cast<double>(steps - 1);
    s.work[s.pass] = 1 - s.moved;
    return s;
  }

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int turns() const { return chain_.turns; }

  /// Returns, for each choice of each element, the least sum over all later elements. The sum
  /// consists of own(i, choice) for each later element i, and of between(i, k, right choice) for
  /// each boundary. k is an index into the lists of turn_boundary.
  template <class Between, class Own>
  std::vector<std::vector<double>> least_behind(Between between, Own own) const {
    int const n = chain_.size();
    std::vector<std::vector<double>> least(at(n));
    least[at(n - 1)].assign(at(chain_.choices(n - 1)), 0);
    for (int i = n - 2; i >= 0; --i) {
      auto const right = at(chain_.choices(i + 1));
      std::vector<double> behind(right);
      for (std::size_t k = 0; k < right; ++k) behind[k] = own(i + 1, k) + least[at(i + 1)][k];
      least[at(i)].assign(at(chain_.choices(i)), std::numeric_limits<double>::infinity());
      for (std::size_t c = 0; c < at(chain_.choices(i)); ++c)
        for (std::size_t k = 0; k < right; ++k)
          least[at(i)][c] = std::min(least[at(i)][c], between(i, c * right + k, k) + behind[k]);
    }
    return least;
  }

  /// Considers the least sum of own and between over the whole chain for each choice. Marks the
  /// choices for which this sum, multiplied by `times`, is not below the limit. `behind` is the
  /// result of least_behind.
  template <class Between, class Own>
  void mark(Between between, Own own, double times,
            std::vector<std::vector<double>> const& behind) {
    std::vector<double> before(at(chain_.choices(0)), 0);
    for (int i = 0;; ++i) {
      auto const n = at(chain_.choices(i));
      for (std::size_t c = 0; c < n; ++c) {
        before[c] += own(i, c);
        if (times * (before[c] + behind[at(i)][c]) >= limit_) dead_[at(i)][c] = 1;
      }
      if (i + 1 == chain_.size()) return;
      auto const right = at(chain_.choices(i + 1));
      std::vector<double> next(right, std::numeric_limits<double>::infinity());
      for (std::size_t c = 0; c < n; ++c)
        for (std::size_t k = 0; k < right; ++k)
          next[k] = std::min(next[k], before[c] + between(i, c * right + k, k));
      before = std::move(next);
    }
  }

  template <class Price>
  std::vector<double> of_moves(Price price) const {
    std::vector<double> list;
    for (auto const& m : chain_.moves) list.push_back(price(m));
    return list;
  }

  /// Returns a function whose arguments are a boundary (turn_boundary) and an index into the
  /// boundary's lists of moves. The function returns the sum of two entries of `of`: one for the
  /// move in the forward pass, one for the move in the backward pass.
  auto both(std::vector<double> const& of) const {
    return [this, &of](int i, std::size_t k, std::size_t) {
      auto const& moves = chain_.behind(i);
      return of[at(moves.forward[k])] + of[at(moves.backward[k])];
    };
  }

  /// Weighted mean number k combines the seconds of the processor and of the links. Computes, for
  /// each choice, the least value of this mean over all later elements.
  void tabulate(int k) {
    auto const& w = weight_of[k];
    auto const moves = of_moves(
        [&](turn_move const& m) { return turns() * (w.link[0] * m.on(0) + w.link[1] * m.on(1)); });
    auto const own = [&](int i, std::size_t c) {
      auto const& of = chain_.at(i);
      double const inside = turns() == 1 ? moves[at(of.inside[c])] : 0;
      return turns() * w.processor * (of.forward[c] + of.backward[c]) + inside;
    };
    to_come_[k] = least_behind(both(moves), own);
    mark(both(moves), own, chain_.per_step, to_come_[k]);
  }
  /// Computes, for each choice, the least number of seconds for which link `on` is busy with the
  /// moves of all later elements, including moves of weights.
  void tabulate_load(int on) {
    auto const moves = of_moves([&](turn_move const& m) { return turns() * m.on(on); });
    auto const own = [&](int i, std::size_t c) {
      auto const& of = chain_.at(i);
      return moves[at(of.inside[c])] +
             (of.gathers[c][at(on)] + of.synchronize[c][at(on)]) / chain_.per_step;
    };
    load_to_come_[on] = least_behind(both(moves), own);
    mark(both(moves), own, chain_.per_step, load_to_come_[on]);
  }
  /// Weighted mean number `number` combines the work of both passes and the moves of weights.
  /// Computes, for each choice, the least value of this mean over all later elements.
  void tabulate_passes(int number) {
    auto const s = share_of(number);
    bool const alone = turns() == 1;
    auto const moves = of_moves([&](turn_move const& m) { return alone ? m.seconds() : 0; });
    auto const own = [&](int i, std::size_t c) {
      auto const& of = chain_.at(i);
      auto const& of_weights = s.pass == 0 ? of.gathers : of.synchronize;
      double const inside = alone ? moves[at(of.inside[c])] : 0;
      return s.work[0] * (turns() * of.forward[c] + inside) + s.work[1] * turns() * of.backward[c] +
             s.moved * of_weights[c][at(s.link)];
    };
    auto const between = [&](int i, std::size_t k, std::size_t right) {
      auto const& of = chain_.at(i + 1);
      int const forward = chain_.behind(i).forward[k], backward = chain_.behind(i).backward[k];
      double const hides = of.backward[right] > 0 ? of.beside[right] : moves[at(backward)];
      return s.work[0] * moves[at(forward)] +
             s.work[1] * std::max(0.0, moves[at(backward)] - hides);
    };
    passes_to_come_[number] = least_behind(between, own);
    mark(between, own, 1, passes_to_come_[number]);
  }

  turn_chain const& chain_;
  double limit_;
  std::vector<std::vector<double>> to_come_[weights], load_to_come_[turn_links],
      passes_to_come_[shares];
  std::vector<std::vector<char>> dead_;  ///< [element][choice]: the result of is_dead()
};

}  // namespace ashlar::search
