// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the strategies of all parameters of a plan with which a step takes the fewest seconds if
// nothing overlaps, within the memory of the machine. The seconds of a step are a sum over the
// parameters. So without a memory limit each parameter gets its fastest strategy. If these
// strategies need too much memory, limited_options.hpp searches others.
//
// The two uses of a tied parameter have one strategy. All combinations of strategies of the tied
// parameters are tried. A strategy is left out if another one dominates it in both uses
// (element_options.hpp).

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/sync/limited_options.hpp>
#include <ashlar/sync/owners.hpp>

namespace ashlar::sync {

/// A plan with strategies for its parameters, and how good they are.
template <int N>
struct basic_optimum {
  search::basic_plan<N> chosen;
  /// A lower bound of the seconds of a step with any strategies of strategies.hpp that fit in
  /// memory. All else is as in the plan.
  double bound = 0;
  /// Other strategies take at most this fraction fewer seconds than the chosen strategies. 0 means
  /// that the chosen strategies are optimal. (chosen.gap is another gap, between layouts. It stays
  /// 1, since other layouts are not considered.)
  double gap = 0;
};
using optimum = basic_optimum<search::dynamic_size>;

namespace detail {

template <int N>
class serial_optimum {
 public:
  constexpr serial_optimum(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                           machine const& m, int effort, wire_list const& wires = lossless)
      : net_(net), chosen_(chosen), machine_(m), prices_(chosen.mesh, m),
        options_(net, chosen_, prices_, wires), effort_(effort) {
    for (int i = 0; i < net.size(); ++i) {
      int k = 0;
      while (k < static_cast<int>(first_.size()) && !shares_list(i, first(k))) ++k;
      if (k == static_cast<int>(first_.size())) first_.push_back(i);
      list_of_.push_back(k);
    }
  }

  constexpr basic_optimum<N> run() {
    auto best = of_fewest_seconds(fastest_only());
    if (machine_.memory == 0 || best.chosen.memory <= machine_.memory) return best;
    return within_memory();
  }

 private:
  using option_list = std::vector<parameter_option>;

  constexpr int first(int list) const { return first_[static_cast<std::size_t>(list)]; }
  constexpr bool is_tied(int i) const {
    for (auto const& t : net_.ties)
      if (t.first == i || t.later == i) return true;
    return false;
  }
  constexpr bool shares_list(int i, int k) const {
    return !is_tied(i) && !is_tied(k) && options_.alike(i, k);
  }

  /// The strategies of a tied parameter, with the costs of both uses.
  struct tied_options {
    option_list first, later;
  };

  constexpr tied_options of_tie(search::tie const& t) const {
    tied_options all;
    for (auto const& s : options_.strategies_of(t.first, t.first_index)) {
      auto later = chosen_[t.later].parameters[t.later_index];
      take_strategy(later, s, net_.spec(t.later).parameters[t.later_index].extents, chosen_.mesh);
      if (is_half_momentum(s.wire, later.wire)) continue;  // neither use gets the wire
      auto const one = options_.priced(t.first, t.first_index, s);
      auto const two = options_.priced(t.later, t.later_index, later);
      bool is_dominated = false;
      for (std::size_t k = 0; k < all.first.size(); ++k)
        is_dominated = is_dominated || (all.first[k].dominates(one) && all.later[k].dominates(two));
      if (is_dominated) continue;
      all.first.push_back(one);
      all.later.push_back(two);
    }
    return all;
  }

  /// Returns the number of the fastest of `n` strategies; among equally fast ones, the number of
  /// the one with the least lasting memory. Strategy k takes cost(k) seconds and lasting(k) bytes.
  template <class Cost, class Lasting>
  static constexpr std::size_t fastest(std::size_t n, Cost cost, Lasting lasting) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < n; ++k)
      if (cost(k) < cost(best) * (1 - rounding) ||
          (at_most(cost(k), cost(best)) && lasting(k) < lasting(best)))
        best = k;
    return best;
  }

  /// The strategies among which to choose, for each parameter and for each tie (step/problem.hpp).
  /// Elements of the chain with the same options form a group. Only the strategies of the first
  /// element of each group are stored.
  struct considered {
    std::vector<std::vector<option_list>> parameters;
    std::vector<tied_options> ties;
  };

  constexpr considered all_options() const {
    considered all;
    for (int const i : first_) {
      all.parameters.emplace_back();
      for (int k = 0; k < net_.spec(i).parameters.size(); ++k) {
        option_list list;
        if (net_.spec(i).parameters[k].tie == search::tie_role::none)
          list = options_.of_parameter(i, k);
        all.parameters.back().push_back(std::move(list));
      }
    }
    for (auto const& t : net_.ties) all.ties.push_back(of_tie(t));
    return all;
  }

  constexpr considered fastest_only() const {
    auto all = all_options();
    for (auto& lists : all.parameters)
      for (auto& list : lists) {
        if (list.empty()) continue;
        auto const k = fastest(
            list.size(), [&](std::size_t at) { return list[at].seconds; },
            [&](std::size_t at) { return list[at].lasting; });
        list = option_list{list[k]};
      }
    for (auto& t : all.ties) {
      auto const k = fastest(
          t.first.size(), [&](std::size_t at) { return t.first[at].seconds + t.later[at].seconds; },
          [&](std::size_t at) { return t.first[at].lasting + t.later[at].lasting; });
      t.first = option_list{t.first[k]};
      t.later = option_list{t.later[k]};
    }
    return all;
  }

  /// Makes the lists of options of all elements (element_options.hpp) for the case that the
  /// parameter of tie number k has strategy number ties[k] in both of its uses.
  constexpr option_lists lists_with(considered const& all, std::vector<int> const& ties) const {
    option_lists made;
    made.list_of = list_of_;
    for (std::size_t l = 0; l < first_.size(); ++l) {
      int const i = first_[l];
      made.lists.push_back(options_.combined(i, [&](int k) {
        for (std::size_t t = 0; t < ties.size(); ++t) {
          auto const& tie = net_.ties[static_cast<int>(t)];
          auto const at = static_cast<std::size_t>(ties[t]);
          if (tie.first == i && tie.first_index == k) return option_list{all.ties[t].first[at]};
          if (tie.later == i && tie.later_index == k) return option_list{all.ties[t].later[at]};
        }
        return all.parameters[l][static_cast<std::size_t>(k)];
      }));
    }
    return made;
  }

  /// Expects that `all` has exactly one strategy for each parameter. Returns the plan in which each
  /// parameter has this strategy.
  constexpr basic_optimum<N> of_fewest_seconds(considered const& all) const {
    auto const lists = lists_with(all, std::vector<int>(all.ties.size(), 0));
    return made_of(lists, limited_search<N>(net_, chosen_, lists, 1).fastest());
  }

  /// Changes `now`, which has the number of each tie's strategy, to the next combination. Returns
  /// false if there is no other combination.
  static constexpr bool go_on(std::vector<int>& now, considered const& all) {
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (++now[k] < static_cast<int>(all.ties[k].first.size())) return true;
      now[k] = 0;
    }
    return false;
  }

  constexpr basic_optimum<N> within_memory() const {
    auto const all = all_options();
    chosen_options best;
    best.seconds = std::numeric_limits<double>::infinity();
    double bound = best.seconds;
    option_lists best_lists;
    std::int64_t least = -1;
    std::vector<int> ties(all.ties.size(), 0);
    do {
      auto const lists = lists_with(all, ties);
      limited_search<N> search(net_, chosen_, lists, effort_);
      auto const found = search.run(machine_.memory, best.seconds);
      bound = std::min(bound, found.bound);
      auto const lean = search.leanest_memory();
      least = least < 0 ? lean : std::min(least, lean);
      if (found.picks.empty()) continue;
      best = found;
      best_lists = lists;
    } while (go_on(ties, all));
    if (best.picks.empty())
      throw error("sync::optimal",
                  "no strategies that fit in memory were found: the limit is " +
                      std::to_string(machine_.memory) +
                      " bytes on a rank, and those with the least lasting memory need " +
                      std::to_string(least) +
                      ". Raise the limit, recompute segments, or take more ranks.");
    best.bound = std::min(bound, best.seconds);
    return made_of(best_lists, best);
  }

  constexpr basic_optimum<N> made_of(option_lists const& lists, chosen_options const& found) const {
    // The picked strategies, in the order in which changed_plan asks for them.
    std::vector<search::parameter_choice> picked;
    for (int i = 0; i < net_.size(); ++i)
      for (int k = 0; k < chosen_[i].parameters.size(); ++k)
        if (net_.spec(i).parameters[k].tie != search::tie_role::later) {
          auto const pick = static_cast<std::size_t>(found.picks[static_cast<std::size_t>(i)]);
          picked.push_back(lists[i][pick].parameters[k]);
        }
    deal_out(picked);
    basic_optimum<N> made;
    std::size_t next = 0;
    made.chosen = changed_plan("sync::optimal", net_, chosen_, machine_,
                               [&](search::parameter_choice& p, shape const&) {
                                 p.store = picked[next].store;
                                 p.update = picked[next].update;
                                 p.wire = picked[next++].wire;
                               });
    double const beside = made.chosen.seconds - found.seconds;
    made.bound = std::min(made.chosen.seconds, beside + found.bound);
    double const less = made.chosen.seconds - made.bound;
    made.gap = less > 1e-9 * made.chosen.seconds ? less / made.chosen.seconds : 0;
    return made;
  }

  /// Assigns owners to the parameters whose chosen strategy has an owner. The busiest rank gets as
  /// few elements as deal_owners.hpp achieves.
  constexpr void deal_out(std::vector<search::parameter_choice>& picked) const {
    std::vector<ownable> list;
    std::size_t next = 0;
    for (int i = 0; i < net_.size(); ++i)
      for (auto const& spec : net_.spec(i).parameters) {
        if (spec.tie == search::tie_role::later) continue;
        auto const& p = picked[next++];
        if (p.updated_at().has_owned())
          list.push_back(
              {spec.extents, stored_as_used(p), dividing_axes(p, spec.extents, chosen_.mesh)});
      }
    auto const dealt = deal_owners(list, chosen_.mesh);
    next = 0;
    for (auto& p : picked) {
      if (!p.updated_at().has_owned()) continue;
      auto const& at = dealt.at[next++];
      (p.is_updated_apart() ? p.update : p.store) = at;
    }
  }

  search::basic_problem<N> const& net_;
  search::basic_plan<N> chosen_;
  machine const& machine_;
  search::planned_moves prices_;
  element_options<N, search::planned_moves> options_;
  int effort_;
  std::vector<int> first_;    // the first element of each group
  std::vector<int> list_of_;  // the list of each element
};

}  // namespace detail
}  // namespace ashlar::sync
