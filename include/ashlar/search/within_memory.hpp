// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest plan that fits a memory limit, exactly. The memory of a plan is that of its program in
// serial order (step/memory_fold.hpp). For one number r of recomputed segments (memory_search.hpp):
//
//   1. the Lagrangian dual in one price of memory (lagrangian.hpp): a lower bound of the seconds,
//      and on the way plans that fit; if none does, any plan that fits (least_memory.hpp)
//   2. labels (label_search.hpp) of the plans that are dearer than the bound by at most a margin, which
//      grows until there is one: the cheapest of them is the optimum
//
// How many segments to recompute is found by branch and bound over ranges of r:
//
//   least .. most   no plan with such an r costs less than the dual of costs that are, element by element,
//                   those of `least` in seconds and those of `most` in memory
//   one r           its dual, and plans that fit; once it is the most promising r of all, its labels too
//
// The range of least bound is taken first and cut in two, until no range can hold a plan better than the
// best known. Where the labels become too many (deep nets of nearly equal blocks, tight limits) the plan
// says by how much it may miss the optimum: basic_plan::gap.

#include <vector>

#include <ashlar/search/memory_search.hpp>

namespace ashlar::search {

namespace detail {

/// The run of a search that nobody limits or watches: what detail::watch (algorithm.hpp) is at run time.
struct no_watch {
  constexpr bool go_on() { return true; }
  constexpr bool improves(double) { return true; }
  constexpr void raise_bound(double) {}
};

template <int N, class Watch>
class recomputation_search {
 public:
  template <class Filter>
  constexpr recomputation_search(basic_problem<N> const& what, topology const& t, machine const& m,
                                 Filter const& filter, Watch& watch)
      : net_(what), watch_(watch), model_(what, t, m, filter, pruning::by_time_and_memory) {}

  /// The cheapest plan of at most so many bytes per rank. Throws ashlar::error if there is none.
  constexpr basic_plan<N> run(std::int64_t limit) {
    limit_ = limit;
    open_.clear();
    known_ = unreachable;
    made_ = 0;
    recomputation const all{net_.recomputed, net_.segments};
    double labelled = unreachable;  // the least bound of what labels left open
    if (all.is_range()) consider(all);
    else labelled = search({all.least, all.least}, true);
    while (!open_.empty()) {
      auto best = open_.begin();
      for (auto it = open_.begin(); it != open_.end(); ++it)
        if (it->bound < best->bound) best = it;
      range const next = *best;
      if (next.bound >= known_ * (1 - 1e-13) || !watch_.go_on()) break;
      open_.erase(best);
      auto const [least, most] = next.again;
      if (least < most) {
        int const middle = least + (most - least) / 2;
        consider({least, middle});
        consider({middle + 1, most});
      } else {
        double const bound = search(next.again, made_ < most_labels);
        labelled = bound < labelled ? bound : labelled;
      }
    }
    if (known_ == unreachable) take_any();
    double bound = labelled < known_ ? labelled : known_;
    for (range const& r : open_) bound = r.bound < bound ? r.bound : bound;
    watch_.raise_bound(bound);
    best_.gap = bound < known_ * (1 - 1e-13) ? 1 - bound / known_ : 0;
    return best_;
  }

  /// The least bytes per rank of any plan, and how many segments it recomputes.
  constexpr least_memory_result least(int& again) {
    least_memory_result least;
    scratch<int> lean(static_cast<std::size_t>(net_.size()));
    auto const numbers = numbers_by_need();
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      auto const& [bound, r] = numbers.data()[k];
      if (least.bytes >= 0 && bound >= least.bytes) break;
      if (k == most_numbers) {
        least.complete = false;
        break;
      }
      model_.recompute({r, r});
      least_memory_result const found = least_memory(model_, lean);
      bool const complete = found.complete && (k == 0 || least.complete);
      if (least.bytes < 0 || found.bytes < least.bytes) least = found, again = r;
      least.complete = complete;
    }
    return least;
  }

 private:
  static constexpr std::int64_t most_labels = label_effort;  ///< then no further r
  static constexpr std::size_t most_numbers =
      8;  ///< of segments, of which the least memory is looked for

  struct range {
    recomputation again;
    double bound;
  };

  /// What a search within another may say to the one who watches: its bound is not that of all.
  struct within {
    Watch& watch;
    constexpr bool go_on() { return watch.go_on(); }
    constexpr bool improves(double weight) { return watch.improves(weight); }
    constexpr void raise_bound(double) {}
  };

  /// Adds a range to what is open, if a plan may fit.
  constexpr void consider(recomputation again) {
    if (!again.is_range()) {
      double const bound = search(again, false);
      if (bound < known_) open_.push_back({again, bound});
      return;
    }
    model_.recompute(again);
    chain_model<N> model = model_.in_use();
    if (!drop_too_large(model, limit_)) return;
    model.keep_counted();
    counted_memory<N> const counted(model);
    auto const dual = solve_dual(
        model, counted, limit_,
        [&](scratch<int> const& path) { return cost_of_path(model, counted, path); },
        [this] { return watch_.go_on(); });
    if (dual.bound < known_) open_.push_back({again, dual.bound});
  }

  /// Searches one number of segments; returns the bound of its plans.
  constexpr double search(recomputation again, bool labels) {
    model_.recompute(again);
    chain_model<N> model = model_.in_use();
    if (!drop_too_large(model, limit_)) return unreachable;
    within mine{watch_};
    memory_search<N, within> one(model, limit_, mine, known_);
    if (labels && one.bound() < unreachable) made_ += one.label();
    if (one.best().size() > 0) {
      known_ = one.weight();
      best_ = make_plan(model, one.best());
    }
    return one.bound();
  }

  /// Any plan that fits: the search was stopped before it came to one, or there is none. Throws then,
  /// saying the least memory.
  constexpr void take_any() {
    for (auto const& [bound, r] : numbers_by_need()) {
      if (bound > limit_) break;
      search({r, r}, false);
      if (known_ < unreachable) return;
    }
    int again = net_.recomputed;
    least_memory_result const bytes = least(again);
    model_.recompute({again, again});
    scratch<int> lean(static_cast<std::size_t>(net_.size()));
    least_memory(model_, lean);
    refuse_path(model_, limit_, bytes, lean, "search::optimal");
  }

  struct needed {
    std::int64_t bytes;
    int again;
  };

  /// Numbers of recomputed segments with what every plan needs at least of which so many are, the least first.
  constexpr std::vector<needed> numbers_by_need() {
    std::vector<needed> list;
    for (int r = net_.recomputed; r <= net_.segments || list.empty(); ++r) {
      model_.recompute({r, r});
      list.push_back({counted_memory<N>(model_).least(), r});
    }
    std::sort(list.begin(), list.end(), [](needed const& a, needed const& b) {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.again < b.again;
    });
    return list;
  }

  basic_problem<N> const& net_;
  Watch& watch_;
  chain_model<N> model_;  ///< all choices
  std::int64_t limit_ = 0;
  std::vector<range> open_;
  double known_ = unreachable;  ///< weight of the best plan
  basic_plan<N> best_;
  std::int64_t made_ = 0;  ///< labels
};

}  // namespace detail

/// The plan of least predicted seconds among those of at most machine.memory bytes per rank.
/// Throws ashlar::error if there is none, saying the least possible. Arguments as of `optimal`.
template <int N, class Filter, class Watch = detail::no_watch>
constexpr basic_plan<N> within_memory(basic_problem<N> const& net, topology const& t,
                                      machine const& m, Filter const& filter,
                                      Watch&& watch = Watch{}) {
  detail::recomputation_search search(net, t, m, filter, watch);
  return search.run(m.memory);
}

}  // namespace ashlar::search
