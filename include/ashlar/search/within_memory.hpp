// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the fastest plan that fits a memory limit. The memory of a plan is the high-water mark of
// its program in serial order (step/memory_fold.hpp). The plan may recompute (activation
// checkpointing) its first r segments. For a fixed r, the search has two steps (memory_search.hpp):
//
//   1. Compute a lower bound of the seconds: the Lagrangian dual, with one price of memory
//      (lagrangian.hpp). Its iterations also find plans that fit. If no iteration finds one,
//      least_memory.hpp looks for any plan that fits.
//   2. Examine the plans whose cost exceeds the bound by at most a margin, by label setting
//      (label_search.hpp). The margin grows until a plan is found. The fastest such plan is
//      optimal.
//
// The best r is found by best-first branch and bound over ranges of r. A range has a lower bound:
//
//   least .. most   the dual with optimistic costs: each element has the seconds for r = least and
//                   the memory for r = most
//   a single r      the dual with the costs for this r. If this bound is the least of all open
//                   ranges, label setting follows
//
// In each iteration, the range with the least bound is halved, until no range can contain a better
// plan than the best known one. The search stops early if it makes too many labels (partial plans).
// That happens for deep nets of nearly equal blocks and tight limits. basic_plan::gap then bounds
// the distance to the optimum.

#include <algorithm>
#include <vector>

#include <ashlar/search/memory_search.hpp>
#include <ashlar/search/search_effort.hpp>

namespace ashlar::search {

namespace detail {

/// Takes the place of detail::watch (algorithm.hpp) in a search without a budget and without
/// progress reports.
struct no_watch {
  search_effort effort{};
  constexpr bool go_on() { return true; }
  constexpr bool has_time() { return true; }
  constexpr bool improves(double) { return true; }
  constexpr void raise_bound(double) {}
};

template <int N, class Watch>
class recomputation_search {
 public:
  template <class Filter>
  constexpr recomputation_search(basic_problem<N> const& what, topology const& t, machine const& m,
                                 Filter const& filter, Watch& watch)
      : net_(what), watch_(watch),
        model_(what, t, m, filter, pruning::by_time_and_memory, {what.recomputed, what.recomputed},
               effort_of(watch).moves) {}

  /// Returns the fastest plan of at most `limit` bytes per rank. Throws ashlar::error if no plan
  /// that fits is found. Does not throw if the watch's effort names the seconds of a known plan
  /// (search_effort::known): the search then looks for faster plans only, and returns a plan
  /// without choices if it finds none.
  constexpr basic_plan<N> run(std::int64_t limit) {
    limit_ = limit;
    open_.clear();
    known_ = effort_of(watch_).known;
    if (best_.size() > 0) best_ = {};
    bool const is_any = known_ == unreachable;
    made_ = 0;
    recomputation const all{net_.recomputed, net_.segments};
    // The least lower bound over all numbers of recomputed segments whose search is finished.
    double labelled = unreachable;
    if (all.is_range()) consider(all);
    else labelled = search({all.least, all.least}, most_labels() > 0);
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
        double const bound = search(next.again, made_ < most_labels());
        labelled = bound < labelled ? bound : labelled;
      }
    }
    double bound = labelled;
    for (range const& r : open_) bound = r.bound < bound ? r.bound : bound;
    if (is_any && known_ == unreachable) take_any(bound);
    bound = known_ < bound ? known_ : bound;
    watch_.raise_bound(bound);
    if (best_.size() == 0 && net_.size() > 0) {
      best_.seconds = bound;
      return best_;
    }
    best_.gap = bound < known_ * (1 - 1e-13) ? 1 - bound / known_ : 0;
    return best_;
  }

  /// Returns the least bytes per rank with which a plan was found. Sets `again` to the number of
  /// segments that this plan recomputes.
  constexpr least_memory_result least(int& again) {
    least_memory_result least;
    scratch<int> lean(static_cast<std::size_t>(net_.size()));
    auto numbers = all_by_need();
    for (int k = 0; !numbers.empty(); ++k) {
      auto const [r, bound] = next_by_need(numbers);
      if (least.bytes >= 0 && bound >= least.bytes) break;
      if (k == most_numbers) {
        least.complete = false;
        break;
      }
      model_.recompute(r);
      least_memory_result const found = least_memory(model_, lean);
      bool const complete = found.complete && (k == 0 || least.complete);
      if (least.bytes < 0 || found.bytes < least.bytes) least = found, again = r.least;
      least.complete = complete;
    }
    return least;
  }

 private:
  /// After this many labels (partial plans) in the whole search, no further label setting begins. A
  /// single run of label setting makes at most this many.
  constexpr std::int64_t most_labels() const { return effort_of(watch_).labels; }
  /// least() tries at most this many different numbers of recomputed segments.
  static constexpr int most_numbers = 8;

  struct range {
    recomputation again;
    double bound;
  };

  /// Computes a lower bound of the cost of all plans in a range of numbers of recomputed segments.
  /// Adds the range to the open ranges if it may contain a plan that fits and is better than the
  /// best known one.
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

  /// Searches the plans with one number of recomputed segments. Uses label setting
  /// (label_search.hpp) only if `labels` is true. Returns a lower bound of the weight of all plans
  /// with this number that are better than the best known plan.
  constexpr double search(recomputation again, bool labels) {
    model_.recompute(again);
    chain_model<N> model = model_.in_use();
    if (!drop_too_large(model, limit_)) return unreachable;
    watch_of_part<Watch> mine{watch_, effort_of(watch_)};
    memory_search<N, watch_of_part<Watch>> one(model, limit_, mine, known_);
    if (labels && one.bound() < unreachable) made_ += one.label(most_labels());
    if (one.best().size() > 0) {
      known_ = one.weight();
      best_ = make_plan(model, one.best());
    }
    return one.bound();
  }

  /// Looks for any plan that fits, after a search that stopped before it found one. If it finds
  /// none, throws an error that states the least memory. `bound` is a lower bound of the weight of
  /// all plans.
  constexpr void take_any(double bound) {
    for (auto numbers = all_by_need(); !numbers.empty();) {
      auto const [r, bytes] = next_by_need(numbers);
      if (bytes > limit_) break;
      search(r, false);
      if (known_ < unreachable) return;
    }
    int again = net_.recomputed;
    least_memory_result const least_bytes = least(again);
    model_.recompute({again, again});
    scratch<int> lean(static_cast<std::size_t>(net_.size()));
    least_memory(model_, lean);
    refuse_path(model_, limit_, least_bytes, lean, "search::optimal", bound);
  }

  /// A range of numbers of recomputed segments, and a lower bound of the bytes per rank that every
  /// plan with one of these numbers needs.
  struct needed {
    recomputation again;
    std::int64_t bytes;
  };

  constexpr needed need_of(recomputation again) {
    model_.recompute(again);
    return {again, counted_memory<N>(model_).least()};
  }
  constexpr std::vector<needed> all_by_need() {
    return {need_of({net_.recomputed, std::max(net_.recomputed, net_.segments)})};
  }
  /// Removes the number of recomputed segments that has the least bound from `ranges`. Returns the
  /// number and its bound. Halves only the ranges that may contain this number, because a net may
  /// have thousands of segments.
  constexpr needed next_by_need(std::vector<needed>& ranges) {
    for (;;) {
      auto const best = std::min_element(
          ranges.begin(), ranges.end(), [](needed const& a, needed const& b) {
            return a.bytes != b.bytes ? a.bytes < b.bytes : a.again.least < b.again.least;
          });
      needed const next = *best;
      ranges.erase(best);
      if (!next.again.is_range()) return next;
      auto const [least, most] = next.again;
      int const middle = least + (most - least) / 2;
      ranges.push_back(need_of({least, middle}));
      ranges.push_back(need_of({middle + 1, most}));
    }
  }

  basic_problem<N> const& net_;
  Watch& watch_;
  chain_model<N> model_;  ///< the model with all choices
  std::int64_t limit_ = 0;
  std::vector<range> open_;     ///< ranges that may contain a better plan
  double known_ = unreachable;  ///< weight of the best plan so far
  basic_plan<N> best_;
  std::int64_t made_ = 0;  ///< labels (partial plans) made so far
};

}  // namespace detail

/// Returns the fastest plan found, by predicted seconds, among the plans that need at most
/// machine.memory bytes per rank. If its gap is 0, no plan that fits is faster. Arguments are those
/// of `optimal`. Throws ashlar::error if no plan that fits is found; the message states the least
/// memory that was found.
template <int N, class Filter, class Watch = detail::no_watch>
constexpr basic_plan<N> within_memory(basic_problem<N> const& net, topology const& t,
                                      machine const& m, Filter const& filter,
                                      Watch&& watch = Watch{}) {
  detail::recomputation_search search(net, t, m, filter, watch);
  return search.run(m.memory);
}

}  // namespace ashlar::search
