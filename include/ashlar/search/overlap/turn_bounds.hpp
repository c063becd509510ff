// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes lower bounds of the seconds of a step in which micro-batches take turns, for the search
// (turn_search.hpp).
//
// A step takes at least as long as each of three paths: one through the work of the processor, and
// one through the transfers of each of the two links. So it takes at least any weighted mean of the
// paths. Such a mean is a sum over the elements of the chain. So its least value over the elements
// that follow a choice is computed once per choice, for several coefficients. The same holds for a
// weighted mean of all work of a step and the load of a link.
//
// If all micro-batches of a step take turns, a step also takes at least the sum of such means for
// its two passes: gradients are synchronized after the whole forward pass, and weights are gathered
// before the whole backward pass. So each pass takes at least
//
//   its work                 If a step has a single micro-batch, the processor waits for the moves,
//                            except while it computes weight gradients beside moves of dx. This
//                            waiting counts as work here.
//   the load of a link       The moves of weights that the pass waits for, and all other moves of
//                            the pass. Both passes share the stage at the end of the chain. Of the
//                            moves between this stage and its neighbour, only those of one
//                            micro-batch count, because the others may run in the other pass.
//
// In some of these sums, the loads of the last elements count in neither pass, but all their work
// counts, since it comes between the loads of both passes.

#include <algorithm>
#include <array>
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
    for (int on = 0; on < turn_links; ++on)
      if (is_used(on))
        for (int k = 0; k < steps; ++k) tabulate_load(on, k / (steps - 1.0));
    if (chain.per_step != 1) return;
    for (int on = 0; on < turn_links; ++on)
      if (is_used(on))
        for (int const joint : {0, 2})
          if (joint < chain.size()) tabulate_passes(on, joint);
    std::stable_sort(passes_.begin(), passes_.end(),
                     [](auto const& a, auto const& b) { return a.of_chain > b.of_chain; });
  }

  /// Returns whether the bounds prove that a step with choice c of element i takes at least `limit`
  /// seconds.
  bool is_dead(int i, int c) const { return dead_[at(i)][at(c)] != 0; }

  /// Returns the least seconds that the processor works in a step for the elements after element i,
  /// if element i has choice c.
  double work_behind(int i, int c) const { return chain_.per_step * to_come_[0][at(i)][at(c)]; }

  /// Returns a lower bound of the seconds of a step. The elements up to i, where i has choice c,
  /// take `processor` and `link` seconds on the paths of one group of micro-batches. They keep the
  /// processor busy for `work` seconds, and all their moves keep link l busy for load[l] seconds.
  double behind(int i, int c, double processor, double const (&link)[turn_links], double work,
                double const (&load)[turn_links]) const {
    double least = 0;
    for (int k = 0; k < weights; ++k) {
      auto const& w = weight_of[k];
      double const path = w.processor * processor + w.link[0] * link[0] + w.link[1] * link[1];
      least = std::max(least, chain_.groups * (path + to_come_[k][at(i)][at(c)]));
    }
    for (auto const& m : loads_)
      least = std::max(least, chain_.per_step * ((1 - m.share) * work + m.share * load[m.link] +
                                                 m.to_come[at(i)][at(c)]));
    return least;
  }

  /// Returns a lower bound of the seconds of a step in which all micro-batches take turns. The
  /// elements up to i, where i has choice c, take ends[p] seconds in pass p. The moves that pass p
  /// waits for take moved[p][l] seconds on link l. The last move of one micro-batch at a boundary
  /// takes last[p][l] of these seconds.
  double behind(int i, int c, std::array<double, 2> const& ends,
                double const (&moved)[2][turn_links], double const (&last)[2][turn_links]) const {
    double least = 0;
    for (auto const& m : passes_) {
      if (i >= chain_.size() - m.joint) continue;
      double so_far = 0, shared[2];
      for (int p = 0; p < 2; ++p) {
        so_far += (1 - m.share[p]) * ends[at(p)] + m.share[p] * moved[p][m.link];
        shared[p] = m.share[p] * (turns() - 1) * last[p][m.link];
      }
      double rest = std::numeric_limits<double>::infinity();
      for (std::size_t s = 0; s < m.to_come.size(); ++s)
        rest = std::min(rest, m.to_come[s][at(i)][at(c)] - (s & 1 ? 0 : shared[0]) -
                                  (s & 2 ? 0 : shared[1]));
      least = std::max(least, so_far + rest);
    }
    return least;
  }

 private:
  /// The coefficients of a weighted mean of three paths (see above): the path through the work of
  /// the processor, and the path through the transfers of each link. The first mean is the path of
  /// the processor alone.
  struct weight {
    double processor, link[turn_links];
  };
  static constexpr int weights = 9;
  static constexpr weight weight_of[weights]{
      {1, {0, 0}},       {0, {1, 0}},     {0, {0, 1}},
      {0.5, {0.5, 0}},   {0.5, {0, 0.5}}, {0.75, {0.25, 0}},
      {0.75, {0, 0.25}}, {0, {0.5, 0.5}}, {1 / 3.0, {1 / 3.0, 1 / 3.0}}};

  static constexpr int steps = 5;
  using by_choice = std::vector<std::vector<double>>;  // [element][choice]

  /// A weighted mean of all work of a step and of the load of a link. The load has the coefficient
  /// `share`, and the work has 1 - share. `to_come` is the least value of this mean over all later
  /// elements.
  struct mean_of_load {
    int link;
    double share;
    by_choice to_come;
  };
  /// A sum of two means, one for each pass. In the mean of pass p, the load of the link has the
  /// coefficient share[p]. In the last `joint` elements only the work counts: moves between these
  /// elements do not count. There are four tables to_come[s], each with the least values over all
  /// later elements. Bit p of s says whether a move that counts follows in pass p.
  /// `of_chain` is the least value over the whole chain.
  struct mean_of_passes {
    int link, joint;
    double share[2];
    std::vector<by_choice> to_come;
    double of_chain = 0;
  };
  static constexpr std::size_t most_means = 8;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int turns() const { return chain_.turns; }

  /// Returns, for each choice of each element, the least sum over all later elements. The sum
  /// consists of own(i, choice) for each later element i, and of between(i, k, choice of i + 1) for
  /// each boundary from element i to i + 1. k is an index into the lists of turn_boundary.
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

  /// For each choice of each element, computes the least sum of `own` and `between` over the whole
  /// chain, if the element takes this choice. Marks the choice in dead_ if this sum, multiplied by
  /// `times`, is not below the limit. `behind` is the result of least_behind.
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

  /// Returns a function of i, k and an unused argument. For entry k of the lists of moves at the
  /// boundary after element i (turn_boundary), it returns the sum of two entries of `of`: one for
  /// the move in the forward pass, one for the move in the backward pass.
  auto both(std::vector<double> const& of) const {
    return [this, &of](int i, std::size_t k, std::size_t) {
      auto const& moves = chain_.behind(i);
      return of[at(moves.forward[k])] + of[at(moves.backward[k])];
    };
  }

  /// Weighted mean number k combines the seconds of the processor and of the links. Computes, for
  /// each choice, the least value that all later elements together add to this mean.
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
  /// Returns whether some move uses link `on`.
  bool is_used(int on) const {
    for (auto const& m : chain_.moves)
      if (m.on(on) > 0) return true;
    for (auto const& c : chain_.costs)
      for (std::size_t k = 0; k < c.gathers.size(); ++k)
        if (c.gathers[k][at(on)] + c.again[k][at(on)] + c.synchronize[k][at(on)] > 0) return true;
    return false;
  }

  /// Computes, for each choice, the least value that all later elements together add to a weighted
  /// mean: `share` times the seconds for which link `on` is busy with all moves, plus 1 - `share`
  /// times the seconds of work.
  void tabulate_load(int on, double share) {
    auto const moves = of_moves([&](turn_move const& m) { return share * turns() * m.on(on); });
    auto const own = [&](int i, std::size_t c) {
      auto const& of = chain_.at(i);
      double const of_weights = of.gathers[c][at(on)] + of.again[c][at(on)] +
                                of.synchronize[c][at(on)];
      return (1 - share) * turns() * (of.forward[c] + of.backward[c]) + moves[at(of.inside[c])] +
             share * of_weights / chain_.per_step;
    };
    loads_.push_back({on, share, least_behind(both(moves), own)});
    mark(both(moves), own, chain_.per_step, loads_.back().to_come);
  }

  /// Tabulates sums of means (mean_of_passes) with the load of link `on`. Tries coefficients on a
  /// grid first, and others closer and closer to the best ones afterwards.
  void tabulate_passes(int on, int joint) {
    double best = -1, at_best[2]{};
    auto const consider = [&](double forward, double backward) {
      if (forward < 0 || forward > 1 || backward < 0 || backward > 1) return;
      double const found = tabulate_passes(on, joint, forward, backward);
      if (found <= best) return;
      best = found;
      at_best[0] = forward, at_best[1] = backward;
    };
    double const step = 1.0 / (steps - 1);
    for (int k = 0; k < steps * steps; ++k) consider(k / steps * step, k % steps * step);
    for (double by = step / 2; by > 0.01; by /= 2) {
      double const forward = at_best[0], backward = at_best[1];
      for (int const sign : {-1, 1}) {
        consider(forward + sign * by, backward);
        consider(forward, backward + sign * by);
        consider(forward + sign * by, backward - sign * by);
      }
    }
  }

  /// Tabulates the sum of two means, one for each pass: a mean of the work of the pass and of the
  /// load of link `on` in the pass. The tables have, for each choice, the least values that all
  /// later elements together add to this sum. Returns the least sum of the whole chain.
  double tabulate_passes(int on, int joint, double forward_share, double backward_share) {
    mean_of_passes mean{on, joint, {forward_share, backward_share}, {}};
    bool const alone = turns() == 1;
    int const counted = chain_.size() - joint;  // elements whose loads count
    auto const shares = [&](int i) {
      return i < counted ? std::array<double, 2>{forward_share, backward_share}
                         : std::array<double, 2>{};
    };
    auto const seconds = of_moves([&](turn_move const& m) { return alone ? m.seconds() : 0; });
    auto const loads = of_moves([&](turn_move const& m) { return m.on(on); });
    auto const own = [&](int i, std::size_t c) {
      auto const& of = chain_.at(i);
      auto const share = shares(i);
      auto const move = at(of.inside[c]);
      double const inside = alone ? (1 - share[0]) * seconds[move] + share[0] * loads[move] : 0;
      return turns() * ((1 - share[0]) * of.forward[c] + (1 - share[1]) * of.backward[c]) + inside +
             share[0] * of.gathers[c][at(on)] + share[1] * of.synchronize[c][at(on)];
    };
    // Weight gradients may be computed beside the last move whose load counts. They belong to the
    // first element after this move that has work (turn_times.hpp). If this is not element
    // `counted`, `later` is an upper bound of their seconds.
    double later = 0;
    for (int i = counted + 1; i < chain_.size(); ++i)
      for (double const beside : chain_.at(i).beside) later = std::max(later, beside);
    auto const beside_last = [&](int i, std::size_t k, std::size_t right) {
      auto const left = k / at(chain_.choices(i + 1));
      if (chain_.behind(i).backward[k] == 0 && chain_.at(i).backward[left] > 0) return 0.0;
      return chain_.at(i + 1).backward[right] > 0 ? chain_.at(i + 1).beside[right] : later;
    };
    // The seconds that the moves of a boundary add to the sum of both means, apart from their
    // loads: a single micro-batch waits for its moves. The boundary in front of element `counted`
    // is the last one whose load counts. The work beside its move may overlap with this load, so it
    // is subtracted with the coefficient of the load.
    auto const waits = [&](int i, std::size_t k, std::size_t right) {
      auto const& of = chain_.at(i + 1);
      auto const share = shares(i);
      double const backward = seconds[at(chain_.behind(i).backward[k])];
      double const hides = of.backward[right] > 0 ? of.beside[right] : backward;
      return (1 - share[0]) * seconds[at(chain_.behind(i).forward[k])] +
             (1 - share[1]) * std::max(0.0, backward - hides) -
             (i + 1 == counted ? share[1] * beside_last(i, k, right) : 0);
    };
    auto const loaded = [&](int i, std::size_t k, int times_forward, int times_backward) {
      auto const share = shares(i);
      return times_forward * share[0] * loads[at(chain_.behind(i).forward[k])] +
             times_backward * share[1] * loads[at(chain_.behind(i).backward[k])];
    };
    mean.to_come = least_by_moves(counted, waits, loaded, own);
    auto const between = [&](int i, std::size_t k, std::size_t right) {
      return waits(i, k, right) + loaded(i, k, 1, 1);
    };
    mark(between, own, 1, least_behind(between, own));
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < at(chain_.choices(0)); ++c)
      for (auto const& table : mean.to_come) least = std::min(least, own(0, c) + table[0][c]);
    mean.of_chain = least;
    passes_.push_back(std::move(mean));
    if (passes_.size() > most_means) passes_.erase(least_mean());
    return least;
  }

  /// Returns the entry of passes_ with the least bound of the whole chain. Of several such entries,
  /// returns the last one.
  std::vector<mean_of_passes>::iterator least_mean() {
    auto found = passes_.begin();
    for (auto it = passes_.begin(); it != passes_.end(); ++it)
      if (it->of_chain <= found->of_chain) found = it;
    return found;
  }

  /// Returns the tables to_come of mean_of_passes. Their values are sums of own(i, choice) for each
  /// later element i, and of waits(i, k, right choice) + loaded(i, k, n, m) for each boundary. The
  /// moves of n micro-batches count in the forward pass, and those of m in the backward pass. n and
  /// m are 1 at the last boundary at which a tensor moves in the pass, and turns() before it. Moves
  /// behind element `counted` do not count.
  template <class Waits, class Loaded, class Own>
  std::vector<by_choice> least_by_moves(int counted, Waits waits, Loaded loaded, Own own) const {
    constexpr double none = std::numeric_limits<double>::infinity();
    int const n = chain_.size();
    std::size_t const states = 4;
    std::vector<by_choice> least(states, by_choice(at(n)));
    for (std::size_t s = 0; s < states; ++s)
      least[s][at(n - 1)].assign(at(chain_.choices(n - 1)), s == 0 ? 0 : none);
    for (int i = n - 2; i >= 0; --i) {
      auto const left = at(chain_.choices(i)), right = at(chain_.choices(i + 1));
      for (auto& table : least) table[at(i)].assign(left, none);
      auto const& moves = chain_.behind(i);
      for (std::size_t k = 0; k < right; ++k) {
        double const here = own(i + 1, k);
        for (std::size_t c = 0; c < left; ++c) {
          std::size_t const both = c * right + k;
          std::size_t const moved = i >= counted ? 0u
                                                 : (moves.forward[both] ? 1u : 0u) |
                                                       (moves.backward[both] ? 2u : 0u);
          double const wait = here + waits(i, both, k);
          for (std::size_t s = 0; s < states; ++s) {
            if (least[s][at(i + 1)][k] == none) continue;
            double const sum = least[s][at(i + 1)][k] + wait +
                               loaded(i, both, s & 1 ? turns() : 1, s & 2 ? turns() : 1);
            auto& best = least[s | moved][at(i)][c];
            best = std::min(best, sum);
          }
        }
      }
    }
    return least;
  }

  turn_chain const& chain_;
  double limit_;
  by_choice to_come_[weights];
  std::vector<mean_of_load> loads_;
  std::vector<mean_of_passes> passes_;
  std::vector<std::vector<char>> dead_;  ///< [element][choice]: the result of is_dead()
};

}  // namespace ashlar::search
