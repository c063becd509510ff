// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the choices of least seconds if micro-batches take turns (turn_times.hpp), by label
// setting. A label is a partial plan: a choice for each element from the first one up to some
// element. These numbers describe it; p is 0 for the forward pass and 1 for the backward pass:
//
//   forward, backward   the states of both passes (turn_times)
//   load                the seconds for which each link is busy
//   moved[p]            the seconds for which each link is busy in pass p, including the moves of
//                       weights that the pass waits for: gathers (0) and synchronizations (1)
//   last[p]             the seconds of one micro-batch's last move at a boundary in pass p
//   computed[p]         the seconds of the processor in pass p, for one micro-batch
//   exposed[p]          the seconds of gathers (0) or synchronizations (1) that no work can hide
//
// A plan whose label has reached the last element takes at least max(joined(forward, backward),
// load, busy) seconds. `busy` is the work of all micro-batches plus what is exposed. If several
// groups of several micro-batches follow each other, the moves of one group run beside the work of
// the next, and the bound is only max(load, busy). Moves of weights can use a link whenever it is
// free, but need not find enough free time. So this is a lower bound. The timeline of the plan's
// own program (step/timeline.hpp) gives the seconds.
//
// If micro-batches run one at a time, the last stage of one micro-batch and the first stage of the
// next are one stage. In this case `forward` and `backward` leave out the work of these stages.
//
// Of two labels A and B with the same last choice, B is dropped if A is at least as good whatever
// elements follow. Let A be later than B by at most f seconds in the forward pass and by at most b
// seconds in the backward pass, whatever follows (later_in). A is at least as good if f + b <= 0
// and the other numbers of A are not worse.
//
// Choices and labels whose bound (turn_bounds.hpp) is not below the limit are dropped.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <ashlar/search/overlap/turn_bounds.hpp>
#include <ashlar/search/overlap/turn_times.hpp>
#include <ashlar/search/overlap/turn_walk.hpp>

namespace ashlar::search {

/// A choice for every element of a chain.
struct turn_result {
  double bound = 0;  ///< lower bound of the seconds of a step
  double load = 0;   ///< seconds of all redistributions of a step
  std::vector<int> choices;
};

struct turn_options {
  /// The search ignores results of this many seconds or more.
  double limit = std::numeric_limits<double>::infinity();
  /// The most labels that are kept for one choice of one element: half of them those of least
  /// bound, half those of least work. lost() returns the least bound of the dropped labels.
  int labels = 4000;
  /// The seconds by which the bound of the best result may exceed the least bound of all choices. A
  /// label is also dropped if it is at most tolerance / (2 · number of elements) seconds better
  /// than another label.
  double tolerance = 0;
  /// The most labels that the whole search makes. All further labels are dropped, and lost()
  /// returns the least of their bounds.
  std::int64_t most_labels = std::numeric_limits<std::int64_t>::max();
  /// Called before each element; may be empty. If it returns false, all labels are dropped, and
  /// lost() returns the least of their bounds.
  std::function<bool()> go_on{};
};

class turn_search {
 public:
  explicit turn_search(turn_chain const& chain, turn_options const& o = {})
      : chain_(chain), options_(o), slack_(o.tolerance / (2 * chain.size())),
        bounds_(chain, o.limit) {}

  /// Returns the results in ascending order of their bounds. The list is empty only if no plan is
  /// below the limit or if labels were lost.
  std::vector<turn_result> run() {
    label_lists labels(static_cast<std::size_t>(chain_.choices(0)));
    for (int c = 0; c < chain_.choices(0); ++c) {
      if (bounds_.is_dead(0, c)) continue;
      label first;
      first.node = -1;
      labels[static_cast<std::size_t>(c)].push_back(first);
    }
    enter(0, labels);
    labels = through_chain(
        chain_, 0, chain_.size() - 1, std::move(labels),
        [&](int i, label_lists& lists) { enter(i, lists); },
        [&](int i, label_lists const& lists, int only) { return across(i, lists, only); });
    std::vector<label> all;
    for (auto const& list : labels) all.insert(all.end(), list.begin(), list.end());
    std::vector<turn_result> results;
    for (auto const& it : all) {
      turn_result r{seconds_of(it), chain_.per_step * (it.load[0] + it.load[1]),
                    std::vector<int>(static_cast<std::size_t>(chain_.size()))};
      if (r.bound >= options_.limit) continue;
      for (int n = it.node; n >= 0; n = nodes_[static_cast<std::size_t>(n)].before) {
        auto const& at = nodes_[static_cast<std::size_t>(n)];
        r.choices[static_cast<std::size_t>(at.element)] = at.choice;
      }
      results.push_back(std::move(r));
    }
    std::stable_sort(results.begin(), results.end(), [](auto const& a, auto const& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.load < b.load;
    });
    return results;
  }

  /// Returns a lower bound of the seconds of all plans that run() dropped because there were too
  /// many labels or because go_on() returned false. Returns infinity if run() dropped none for
  /// these reasons.
  double lost() const { return lost_; }
  std::int64_t labels() const { return static_cast<std::int64_t>(nodes_.size()); }

 private:
  struct label {
    turn_times forward, backward;
    double load[turn_links]{}, moved[2][turn_links]{}, last[2][turn_links]{};
    double computed[2]{}, exposed[2]{};
    int node = -1;
    double bound = 0;
    double work = 0;  ///< a lower bound of the seconds of the processor in a whole step
  };
  using label_lists = std::vector<std::vector<label>>;  // by the choice of the last element
  /// A choice of an element, and the node of the element before it.
  struct node {
    int element, choice, before;
  };

  int turns() const { return chain_.turns; }

  /// Returns whether all micro-batches of a step form one group. A smaller last group counts as
  /// another group.
  bool is_one() const { return chain_.per_step == 1; }

  /// Returns whether the groups of micro-batches follow each other without overlap, so that the
  /// seconds of a step are a multiple of the seconds of one group.
  bool has_paths() const { return is_one() || turns() == 1; }

  double seconds_of(label const& l) const {
    return std::max({has_paths() ? chain_.groups * joined(l.forward, l.backward, turns()) : 0,
                     chain_.per_step * std::max(l.load[0], l.load[1]), busy(l)});
  }

  /// Returns a lower bound of the seconds of every plan that begins with label l, whose last choice
  /// is choice c of element i.
  double bound_of(int i, int c, label const& l) const {
    double link[turn_links];
    for (int on = 0; on < turn_links; ++on)
      link[on] = has_paths() ? l.forward.link[on] + l.backward.link[on] : l.load[on];
    double const processor = has_paths() ? l.forward.processor + l.backward.processor +
                                               turns() * (l.forward.open + l.backward.open)
                                         : turns() * (l.computed[0] + l.computed[1]);
    double const bound = std::max(
        busy(l) + bounds_.work_behind(i, c),
        bounds_.behind(i, c, processor, link, turns() * (l.computed[0] + l.computed[1]), l.load));
    if (!is_one() || bound >= options_.limit) return bound;
    // In the backward pass, the first work of a stage may run beside the move before the stage
    // (turn_times::work). If this work is still to come, the bound does not wait for that move.
    auto const end_of = [&](turn_times const& pass) {
      bool const may_overlap = &pass == &l.backward && pass.open == 0;
      return turns() == 1 && !may_overlap ? pass.end_of_one()
                                          : pass.processor + turns() * pass.open;
    };
    return std::max(bound,
                    bounds_.behind(i, c, {end_of(l.forward), end_of(l.backward)}, l.moved, l.last));
  }

  /// Returns for how many seconds of a step the processor computes or must wait for weights.
  double busy(label const& l) const {
    return chain_.per_step * turns() * (l.computed[0] + l.computed[1]) + l.exposed[0] +
           l.exposed[1];
  }

  /// Adds to a label (a partial plan, see above) what element i costs with choice c: its work, the
  /// moves of its weights and the move inside its forward pass, which is the redistribution of a
  /// statistic.
  void add(int i, int c, label& l) const {
    auto const at = static_cast<std::size_t>(c);
    auto const& own = chain_.at(i);
    // The first micro-batch begins the work of this element when the weights of this and of all
    // earlier elements have been gathered. In the backward pass, whose time runs backward, the last
    // micro-batch begins when the gradients of these weights have been synchronized.
    for (int k = 0; k < turn_links; ++k) {
      auto const on = static_cast<std::size_t>(k);
      l.moved[0][k] += own.gathers[at][on];
      l.moved[1][k] += own.synchronize[at][on];
      l.load[k] += turns() * chain_.move(own.inside[at]).on(k) +
                   (own.gathers[at][on] + own.again[at][on] + own.synchronize[at][on]) /
                       chain_.per_step;
    }
    // Of the moves at the last boundary, a micro-batch waits only for its own. During this move,
    // the processor can compute the element's weight gradient. If the element has no work, a later
    // element may compute its weight gradient during the move.
    int const others = std::max(0, moved_by_pass() - 1);
    wait_for_weights(l.forward, l, 0, 0, others);
    double const after = own.after_weights[at];
    bool const is_first = l.backward.open == 0;
    bool const may_overlap = is_first && (own.beside[at] > 0 || own.backward[at] == 0);
    wait_for_weights(l.backward, l, 1, after, may_overlap ? moved_by_pass() : others);
    if (is_first && own.beside[at] > 0)
      wait_for_weights(l.backward, l, 1, std::max(after, own.beside[at]), others);
    if (is_one() || l.forward.ready[0] > 0) l.forward.work(own.forward[at]);
    // Other micro-batches can compute beside a move inside a forward pass. So this move ends a
    // stage only if micro-batches run one at a time.
    if (turns() == 1) moves(l, l.forward, 0, chain_.move(own.inside[at]));
    if (is_one() || l.backward.ready[0] > 0) l.backward.work(own.backward[at], own.beside[at]);
    l.computed[0] += own.forward[at];
    l.computed[1] += own.backward[at];
  }

  /// Returns for how many micro-batches of a group `moved` counts the moves at boundaries: for all,
  /// or for none if the moves of one group can run beside the work of the next group.
  int moved_by_pass() const { return is_one() ? turns() : turns() == 1 ? 1 : 0; }

  /// Ends the open stage of pass p (0 forward, 1 backward) of label l by a move.
  void moves(label& l, turn_times& pass, int p, turn_move const& m) const {
    pass.move(m, turns(), p == 1);
    if (m.steps.empty()) return;
    for (int k = 0; k < turn_links; ++k) {
      double const each = m.on(k);
      // By the end of a micro-batch's move, the link has carried all moves of the pass so far. With
      // several groups this is not used: only one group waits for the moves of weights in `moved`.
      for (int b = 0; b < turns() && is_one(); ++b)
        pass.ready[b] = std::max(pass.ready[b], l.moved[p][k] + (b + 1) * each);
      l.last[p][k] = each;
      l.moved[p][k] += moved_by_pass() * each;
    }
  }

  /// Makes pass p (0 forward, 1 backward) of label l wait for all moves so far, except the last
  /// boundary moves of `without` micro-batches. The awaited moves can run beside earlier work,
  /// beside the open stage of all micro-batches (turn_times.hpp), and beside `less` seconds of work
  /// of each micro-batch.
  void wait_for_weights(turn_times& pass, label& l, int p, double less, int without) const {
    for (int k = 0; k < turn_links; ++k) {
      double const moved = l.moved[p][k] - without * l.last[p][k];
      if (is_one()) pass.processor = std::max(pass.processor, moved - turns() * (less + pass.open));
      l.exposed[p] = std::max(l.exposed[p], moved - turns() * (l.computed[p] + less));
    }
  }

  /// Adds the costs of element i to labels (partial plans) that already have a choice of this
  /// element. Then drops dominated labels, and labels beyond the permitted number.
  void enter(int i, label_lists& labels) {
    stopped_ = stopped_ || static_cast<std::int64_t>(nodes_.size()) > options_.most_labels ||
               (options_.go_on && !options_.go_on());
    for (int c = 0; c < chain_.choices(i); ++c) {
      auto& list = labels[static_cast<std::size_t>(c)];
      for (auto& l : list) {
        add(i, c, l);
        l.bound = std::max(l.bound, bound_of(i, c, l));
        l.work = busy(l) + bounds_.work_behind(i, c);
      }
      drop(list);
      if (stopped_) lose(list);
      for (auto& l : list) {
        nodes_.push_back({i, c, l.node});
        l.node = static_cast<int>(nodes_.size()) - 1;
      }
    }
  }

  /// Extends labels over the boundary after element i: to choice `only` of the next element, or to
  /// all of its choices if `only` is negative.
  label_lists across(int i, label_lists const& labels, int only) const {
    auto const& move = chain_.behind(i);
    int const n = chain_.choices(i + 1);
    label_lists next(static_cast<std::size_t>(n));
    for (std::size_t c = 0; c < labels.size(); ++c) {
      if (labels[c].empty()) continue;
      for (int k = only < 0 ? 0 : only; k < (only < 0 ? n : only + 1); ++k) {
        if (bounds_.is_dead(i + 1, k)) continue;
        std::size_t const both = c * at(n) + at(k);
        auto const &forward = chain_.move(move.forward[both]),
                   &backward = chain_.move(move.backward[both]);
        for (auto l : labels[c]) {
          moves(l, l.forward, 0, forward);
          moves(l, l.backward, 1, backward);
          for (int on = 0; on < turn_links; ++on)
            l.load[on] += turns() * (forward.on(on) + backward.on(on));
          next[static_cast<std::size_t>(k)].push_back(l);
        }
      }
    }
    return next;
  }

  /// Returns whether the partial plan of label a, however it is completed, takes at most `slack`
  /// seconds longer than that of label b with the same completion.
  bool is_no_worse(label const& a, label const& b, double slack) const {
    double const each = slack / chain_.per_step;
    for (int k = 0; k < turn_links; ++k)
      if (a.load[k] > b.load[k] + each) return false;
    for (int p = 0; p < 2; ++p)
      for (int k = 0; k < turn_links; ++k)
        if (a.moved[p][k] > b.moved[p][k] + slack / 2 ||
            a.moved[p][k] - turns() * a.last[p][k] >
                b.moved[p][k] - turns() * b.last[p][k] + slack / 2)
          return false;
    // With one group, a.forward and a.backward contain the work and the exposed seconds.
    for (int p = 0; p < 2 && !is_one(); ++p) {
      double const more = turns() * (a.computed[p] - b.computed[p]);
      if (more > each / 4 || a.exposed[p] > b.exposed[p] + slack / 4) return false;
      for (int k = 0; k < turn_links; ++k)
        if (a.moved[p][k] - b.moved[p][k] > more + slack / 4 ||
            a.moved[p][k] - turns() * a.last[p][k] - b.moved[p][k] + turns() * b.last[p][k] >
                more + slack / 4)
          return false;
    }
    if (!has_paths()) return true;
    return later_in(0, a.forward, b.forward, a, b) + later_in(1, a.backward, b.backward, a, b) <=
           slack / chain_.groups;
  }

  /// Returns the most seconds by which pass p of label a, in state x, can be later than pass p of
  /// label b, in state y, whatever elements follow. The pass may also wait for its moves.
  double later_in(int p, turn_times const& x, turn_times const& y, label const& a,
                  label const& b) const {
    // x.behind(y) does not hold if work to come can run beside the last move in y, but not in x.
    if (p == 1 && x.open > 0 && x.ready[0] > 0 && y.open == 0 && y.ready[0] > 0)
      return std::numeric_limits<double>::infinity();
    double most = x.behind(y, turns());
    if (!is_one()) return most;
    double const more = (turns() - 1) * std::max(0.0, y.open - x.open);
    for (int k = 0; k < turn_links; ++k) {
      double const moved = a.moved[p][k] - b.moved[p][k];
      most = std::max({most, moved + more, moved - turns() * (a.last[p][k] - b.last[p][k]) + more});
    }
    return most;
  }

  /// Drops all labels of a list, and lowers lost() to the least of their bounds.
  void lose(std::vector<label>& list) {
    for (auto const& l : list) lost_ = std::min(lost_, l.bound);
    list.clear();
  }

  /// Drops dominated labels, and labels beyond the permitted number. If there are too many labels,
  /// keeps those of least bound and those of least work, half of each. The bound alone does not
  /// suffice: many labels have equal bounds, which mostly come from the rest of the chain.
  void drop(std::vector<label>& list) {
    std::erase_if(list, [&](label const& l) { return l.bound >= options_.limit; });
    std::stable_sort(list.begin(), list.end(), [](label const& a, label const& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.load[0] + a.load[1] < b.load[0] + b.load[1];
    });
    std::vector<label const*> order;
    for (auto const& l : list) order.push_back(&l);
    if (static_cast<int>(list.size()) > options_.labels) {
      auto by_work = order;
      std::stable_sort(by_work.begin(), by_work.end(),
                       [](label const* a, label const* b) { return a->work < b->work; });
      std::vector<label const*> both;
      for (std::size_t k = 0; k < order.size(); ++k) {
        both.push_back(order[k]);
        both.push_back(by_work[k]);
      }
      order = std::move(both);
    }
    std::vector<label> kept;
    auto const is_needed = [&](label const& l) {
      return std::none_of(kept.begin(), kept.end(),
                          [&](label const& k) { return is_no_worse(k, l, slack_); });
    };
    for (label const* const l : order) {
      if (!is_needed(*l)) continue;
      if (static_cast<int>(kept.size()) == options_.labels) {
        // `list` is sorted by bounds, so its first label that is needed has the least bound of all
        // lost labels.
        lost_ = std::min(lost_, std::find_if(list.begin(), list.end(), is_needed)->bound);
        break;
      }
      std::erase_if(kept, [&](label const& k) { return is_no_worse(*l, k, 0); });
      kept.push_back(*l);
    }
    list = std::move(kept);
  }

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  turn_chain const& chain_;
  turn_options options_;
  double slack_;  ///< seconds
  turn_bounds bounds_;
  std::vector<node> nodes_;
  double lost_ = std::numeric_limits<double>::infinity();
  bool stopped_ = false;
};

}  // namespace ashlar::search
