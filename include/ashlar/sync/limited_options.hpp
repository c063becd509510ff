// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Chooses an option for each element of a chain so that a step takes the fewest seconds and fits in
// memory. The seconds of options add up, and the fold of step/memory_fold.hpp gives the memory.
//
//   labels      A label is a choice of options for the first elements, with its seconds and its
//               memory so far. A label is dropped if another label has no more seconds and no more
//               memory of any kind.
//   bound       The completions of a label are the choices for all elements that begin with it. A
//               label is also dropped if a lower bound of the seconds of all its completions is
//               not below the seconds of the best known choice. Lasting memory is held for the
//               whole step. If a byte of it has a price of p seconds, the elements that follow
//               those of the label take at least
//                 sum of min over options of (seconds + p * lasting)  -  p * (free bytes)
//               The free bytes are those that the label leaves for lasting memory below the limit.
//               The search uses the p for which the bound of the whole chain is greatest
//               (Lagrangian relaxation).
//   effort      Labels are extended about `effort` times. So after each element only the labels
//               with the least bounds are kept. Of the labels that are dropped for this reason, the
//               least bound is a lower bound of every choice that was not examined. If there are no
//               such labels, the result is exact.

#include <algorithm>
#include <limits>
#include <vector>

#include <ashlar/sync/element_options.hpp>

namespace ashlar::sync {
namespace detail {

/// A choice of options: element i has its option number picks[i]. If `picks` is empty, no choice
/// was found that fits in memory and takes few enough seconds.
struct chosen_options {
  std::vector<int> picks;
  double seconds = 0;  ///< the sum of the seconds of the picked options
  double bound = 0;    ///< no choice that fits has fewer seconds than this
};

/// The options of all elements. Elements with the same options share one list.
struct option_lists {
  std::vector<std::vector<element_option>> lists;
  std::vector<int> list_of;  ///< the index of each element's list

  constexpr std::vector<element_option> const& operator[](int i) const {
    return lists[static_cast<std::size_t>(list_of[static_cast<std::size_t>(i)])];
  }
};

template <int N>
class limited_search {
 public:
  constexpr limited_search(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                           option_lists const& options, int effort)
      : net_(net), chosen_(chosen), options_(options), limit_(0), most_labels_(labels_for(effort)),
        fold_(net, chosen.recomputed, chosen.mesh.ranks()) {}

  /// Returns the memory of a step with these options.
  constexpr std::int64_t memory(std::vector<int> const& picks) const {
    return fold_memory(
        net_, chosen_.recomputed, chosen_.mesh.ranks(),
        [&](int i) -> search::element_bytes const& {
          return options_[i][static_cast<std::size_t>(picks[static_cast<std::size_t>(i)])].bytes;
        },
        [&](int i) { return crossing_of(chosen_, i); });
  }

  /// Returns the choice with the fewest seconds. If several have the same seconds, returns the one
  /// with the least lasting memory.
  constexpr chosen_options fastest() const { return cheapest(0); }

  /// Returns the memory of the choice with the least lasting memory.
  constexpr std::int64_t leanest_memory() const { return memory(cheapest(1).picks); }

  /// Returns the best choice that needs at most `limit` bytes and takes fewer than `below` seconds.
  /// Throws ashlar::error if the net has a branch.
  constexpr chosen_options run(std::int64_t limit, double below) {
    if (has_branches(net_))
      throw error("sync::optimal",
                  "the net has a branch, and synchronizations of nets with branches are not "
                  "searched below a memory limit. Leave out the limit, or use search::optimal.");
    limit_ = limit;
    least_beside_ = memory_beside_lasting();
    price_ = best_price();
    fill_bounds();
    chosen_options best;
    best.seconds = below;
    try_cheapest(best);
    search_labels(best);
    return best;
  }

 private:
  struct label {
    double seconds = 0, bound = 0;
    std::int64_t lasting = 0;
    search::memory_so_far memory;
    int pick = 0, before = -1;
  };

  constexpr int size() const { return net_.size(); }

  /// Returns how many labels to keep after each element, so that there are about `effort`
  /// extensions.
  constexpr int labels_for(int effort) const {
    int extensions = 1;  // the number of extensions if one label is kept after each element
    for (int i = 0; i < size(); ++i) extensions += static_cast<int>(options_[i].size());
    return std::max(4, effort / extensions);
  }

  /// Returns the choice that has, for each element, the option with the least seconds + price *
  /// lasting bytes.
  constexpr chosen_options cheapest(double price) const {
    chosen_options made;
    for (int i = 0; i < size(); ++i) {
      int const k = cheapest_of(options_[i], price);
      made.picks.push_back(k);
      made.seconds += options_[i][static_cast<std::size_t>(k)].seconds;
    }
    made.bound = made.seconds;
    return made;
  }
  static constexpr int cheapest_of(std::vector<element_option> const& list, double price) {
    int best = 0;
    for (int k = 1; k < static_cast<int>(list.size()); ++k) {
      auto const &a = list[static_cast<std::size_t>(k)], &b = list[static_cast<std::size_t>(best)];
      double const x = weighed(a, price), y = weighed(b, price);
      if (x < y * (1 - rounding) || (at_most(x, y) && a.bytes.lasting < b.bytes.lasting)) best = k;
    }
    return best;
  }
  static constexpr double weighed(element_option const& it, double price) {
    return it.seconds + price * double(it.bytes.lasting);
  }

  /// Returns a lower bound of the memory of any choice, not counting lasting bytes. For each other
  /// kind of memory, an element counts with the least bytes that any of its options needs.
  constexpr std::int64_t memory_beside_lasting() const {
    std::vector<search::element_bytes> least;
    for (auto const& list : options_.lists) {
      auto low = list[0].bytes;
      for (auto const& it : list)
        for (auto which : {&search::element_bytes::forward, &search::element_bytes::again,
                           &search::element_bytes::backward, &search::element_bytes::synchronize,
                           &search::element_bytes::gradients, &search::element_bytes::renew})
          low.*which = std::min(low.*which, it.bytes.*which);
      low.lasting = 0;
      least.push_back(low);
    }
    return fold_memory(
        net_, chosen_.recomputed, chosen_.mesh.ranks(),
        [&](int i) -> search::element_bytes const& {
          return least[static_cast<std::size_t>(options_.list_of[static_cast<std::size_t>(i)])];
        },
        [&](int i) { return crossing_of(chosen_, i); });
  }

  /// Returns the price of a byte for which the bound of the whole chain is greatest. It is the
  /// least price at which the lasting bytes of the cheapest options fit.
  constexpr double best_price() const {
    std::int64_t const free = limit_ - least_beside_;
    auto const fits = [&](double price) {
      std::int64_t lasting = 0;
      for (int i = 0; i < size(); ++i) {
        auto const& list = options_[i];
        lasting += list[static_cast<std::size_t>(cheapest_of(list, price))].bytes.lasting;
      }
      return lasting <= free;
    };
    if (fits(0)) return 0;
    double low = 0, high = 1e-12;
    while (!fits(high) && high < 1) high *= 8;
    for (int k = 0; k < 50; ++k) {
      double const middle = (low + high) / 2;
      (fits(middle) ? high : low) = middle;
    }
    return high;
  }

  /// Computes, for each i, the least that the elements i, i + 1, ... add to the seconds, to the
  /// lasting bytes, and to seconds + price * lasting bytes.
  constexpr void fill_bounds() {
    auto const n = static_cast<std::size_t>(size());
    least_seconds_.assign(n + 1, 0);
    least_weighed_.assign(n + 1, 0);
    least_lasting_.assign(n + 1, 0);
    for (std::size_t i = n; i-- > 0;) {
      auto const& list = options_[static_cast<int>(i)];
      double seconds = list[0].seconds, both = weighed(list[0], price_);
      std::int64_t lasting = list[0].bytes.lasting;
      for (auto const& it : list) {
        seconds = std::min(seconds, it.seconds);
        both = std::min(both, weighed(it, price_));
        lasting = std::min(lasting, it.bytes.lasting);
      }
      least_seconds_[i] = least_seconds_[i + 1] + seconds;
      least_weighed_[i] = least_weighed_[i + 1] + both;
      least_lasting_[i] = least_lasting_[i + 1] + lasting;
    }
  }

  /// Tries mixtures of the cheapest options at two prices of memory. The cheapest options at the
  /// lower price do not fit in memory, and those at the higher price do. At any single price, equal
  /// elements have the same cheapest option, so either all of them save memory or none does. In a
  /// mixture, some of them save memory.
  constexpr void try_cheapest(chosen_options& best) const {
    double price = price_ > 0 ? price_ : 1e-15;
    auto fast = cheapest(price * (1 - 1e-6)).picks;
    for (int k = 0; k < 24; ++k, price *= k < 12 ? 1.05 : 4) {
      auto const lean = cheapest(price * (1 + 1e-6)).picks;
      if (memory(lean) > limit_) {
        fast = lean;
        continue;
      }
      for (bool const from_begin : {true, false}) {
        // A mixture with `fits` lean elements fits in memory. A mixture with `exceeds` of them does
        // not. If `exceeds` is -1, no number of lean elements is known to be too small.
        int fits = size(), exceeds = -1;
        while (fits - exceeds > 1) {
          int const half = exceeds + (fits - exceeds) / 2;
          (memory(mixture(fast, lean, half, from_begin)) <= limit_ ? fits : exceeds) = half;
        }
        consider(mixture(fast, lean, fits, from_begin), best);
      }
      return;
    }
  }

  /// Returns the picks of `lean` for `count` elements, at the start or at the end of the chain, and
  /// the picks of `fast` for all other elements.
  static constexpr std::vector<int>
  mixture(std::vector<int> const& fast, std::vector<int> const& lean, int count, bool from_begin) {
    auto made = fast;
    auto const n = static_cast<int>(made.size());
    for (int i = 0; i < n; ++i)
      if (from_begin ? i < count : i >= n - count)
        made[static_cast<std::size_t>(i)] = lean[static_cast<std::size_t>(i)];
    return made;
  }
  constexpr void consider(std::vector<int> const& picks, chosen_options& best) const {
    double seconds = 0;
    for (int i = 0; i < size(); ++i)
      seconds += options_[i][static_cast<std::size_t>(picks[static_cast<std::size_t>(i)])].seconds;
    if (seconds >= best.seconds || memory(picks) > limit_) return;
    best.picks = picks;
    best.seconds = seconds;
  }

  /// Returns a lower bound of the seconds of all completions of a label. The label has options for
  /// the elements before `next`. Returns infinity if no completion fits in memory.
  constexpr double bound_of(label const& it, int next) const {
    auto const at = static_cast<std::size_t>(next);
    std::int64_t const used = std::max(it.memory.peak, it.lasting + least_beside_);
    if (used + least_lasting_[at] > limit_) return std::numeric_limits<double>::infinity();
    double const alone = it.seconds + least_seconds_[at];
    double const priced = it.seconds + least_weighed_[at] - price_ * double(limit_ - used);
    return std::max(alone, priced);
  }

  constexpr bool dominates(label const& a, label const& b, int i) const {
    if (!at_most(a.seconds, b.seconds) || a.lasting > b.lasting) return false;
    auto const& list = options_[i];
    if (a.pick != b.pick && !list[static_cast<std::size_t>(a.pick)].bytes.is_within(
                                list[static_cast<std::size_t>(b.pick)].bytes))
      return false;
    constexpr auto unknown = std::numeric_limits<std::int64_t>::max() / 4;
    return a.memory.is_within(b.memory, b.memory.peak, unknown);
  }

  constexpr void search_labels(chosen_options& best) {
    double lost = std::numeric_limits<double>::infinity();
    std::vector<std::vector<label>> levels;
    std::vector<search::held_by_residuals> outside;
    levels.push_back({label{}});
    for (int i = 0; i < size(); ++i) {
      auto const& list = options_[i];
      auto const& now = levels.back();
      std::vector<label> made;
      if (now.empty()) break;
      bool const begins = net_[i].kind == search::element_kind::residual_begin;
      auto around = now[0].memory.residuals;
      std::int64_t gradient = 0;
      if (begins) {
        int const end = net_[i].partner;
        auto const crossings = [&](int k) { return crossing_of(chosen_, k); };
        gradient = fold_.held_gradient(end, options_[end][0].bytes,
                                       shares_gradient(net_, end, crossings));
      } else if (net_[i].kind == search::element_kind::residual_end) {
        around = outside.back();
        outside.pop_back();
      }
      auto const moves = crossing_of(chosen_, i);
      search::held_by_residuals behind;
      for (int l = 0; l < static_cast<int>(now.size()); ++l)
        for (int k = 0; k < static_cast<int>(list.size()); ++k) {
          label const& from = now[static_cast<std::size_t>(l)];
          auto const& option = list[static_cast<std::size_t>(k)];
          search::element_bytes const* const before =
              i == 0 ? nullptr : &options_[i - 1][static_cast<std::size_t>(from.pick)].bytes;
          label next{from.seconds + option.seconds,
                     0,
                     from.lasting + option.bytes.lasting,
                     fold_.next(from.memory, i, before, option.bytes, moves, gradient, around),
                     k,
                     l};
          behind = next.memory.residuals;
          next.bound = bound_of(next, i + 1);
          if (next.bound < best.seconds * (1 - 1e-12)) made.push_back(next);
        }
      if (begins) outside.push_back(fold_.outside_of(around, behind));
      levels.push_back(undominated(made, i, lost));
    }
    finish(levels, best);
    best.bound = std::min(best.seconds, lost);
  }

  /// Returns the labels that no other label dominates, but at most `most_labels_` of them. Lowers
  /// `lost` to the least bound of a label that is dropped only because of this limit.
  constexpr std::vector<label> undominated(std::vector<label> const& made, int i,
                                           double& lost) const {
    struct place {
      double bound;
      std::int64_t lasting;
      int index;
    };
    std::vector<place> order;
    for (auto const& it : made)
      order.push_back({it.bound, it.lasting, static_cast<int>(order.size())});
    std::sort(order.begin(), order.end(), [](place const& a, place const& b) {
      return a.bound != b.bound       ? a.bound < b.bound
             : a.lasting != b.lasting ? a.lasting < b.lasting
                                      : a.index < b.index;
    });
    std::vector<label> kept;
    for (auto const& at : order) {
      auto const& it = made[static_cast<std::size_t>(at.index)];
      bool is_dominated = false;
      for (auto const& other : kept) is_dominated = is_dominated || dominates(other, it, i);
      if (is_dominated) continue;
      if (static_cast<int>(kept.size()) == most_labels_) {
        lost = std::min(lost, it.bound);
        break;
      }
      kept.push_back(it);
    }
    return kept;
  }

  constexpr void finish(std::vector<std::vector<label>> const& levels, chosen_options& best) const {
    if (static_cast<int>(levels.size()) != size() + 1) return;
    label const* found = nullptr;
    for (auto const& it : levels.back()) {
      auto const& last = options_[size() - 1][static_cast<std::size_t>(it.pick)].bytes;
      if (it.seconds < best.seconds && fold_.whole(it.memory, last) <= limit_)
        found = &it, best.seconds = it.seconds;
    }
    if (found == nullptr) return;
    best.picks.assign(static_cast<std::size_t>(size()), 0);
    for (std::size_t i = levels.size() - 1; i > 0; --i) {
      best.picks[i - 1] = found->pick;
      found = &levels[i - 1][static_cast<std::size_t>(found->before)];
    }
  }

  search::basic_problem<N> const& net_;
  search::basic_plan<N> const& chosen_;
  option_lists const& options_;
  std::int64_t limit_, least_beside_ = 0;
  int most_labels_;
  search::memory_fold<N> fold_;
  double price_ = 0;
  std::vector<double> least_seconds_, least_weighed_;
  std::vector<std::int64_t> least_lasting_;
};

}  // namespace detail
}  // namespace ashlar::sync
