// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the common interface of all search algorithms. An algorithm takes a problem, a mesh, a
// machine and options, and returns a plan with a certified lower bound.
//
//   auto const found = search::coordinate_descent(net, t, m, {.seed = 1, .evaluations = 100'000});
//   found.plan, found.lower_bound, found.gap, found.how
//
// algorithms.hpp lists all algorithms by name.
//
//   evaluation    the pricing of one plan, either completely or as the difference to another plan
//   seconds       wall-clock time of the search, including its cost tables. Only in exact() does it
//                 include the time to compute the lower bound
//   lower bound   in predicted seconds, for all plans within the memory limit. It may be up to one
//                 part in 1e9 too large, because a tiny tie-breaking weight is added per
//                 collective. If the fastest of all plans fits in memory, the bound is its seconds.
//                 Otherwise the bound is the Lagrangian dual (lagrangian.hpp)
//   recomputed    the number of recomputed segments. If the fastest plan exceeds the memory limit,
//                 optimal and exact search for this number. In all other cases, it is
//                 problem::recomputed
//
// A search ends if its budget is used up, if the stop token is set, if its plan is certified to be
// optimal, or if there are no more plans to try. Equal seeds and equal numbers of evaluations give
// equal results on every machine. A budget in seconds does not.

#include <cstdint>
#include <functional>
#include <stop_token>

#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/exact_axes.hpp>
#include <ashlar/support/stopwatch.hpp>

namespace ashlar::search {

/// The state of a running search, the argument of options::on_progress.
struct progress {
  char const* algorithm = "";
  double seconds = 0;            ///< since the search began
  double tables = 0;             ///< the part of `seconds` spent on the cost tables
  std::int64_t evaluations = 0;  ///< plans priced so far
  double best = 0;         ///< predicted seconds of the best plan so far; 0 while there is none
  double lower_bound = 0;  ///< no plan has fewer predicted seconds than this
};

struct options {
  std::uint64_t seed = 0;
  std::int64_t evaluations = 0;  ///< maximum number of plans to price; 0 means no limit
  /// Approximate time limit, checked at least every 64 evaluations; 0 means no limit.
  double seconds = 0;
  /// A bound in seconds that the caller knows, or 0 if it must be computed.
  double lower_bound = 0;
  bool whole_space = false;  ///< whether dominated choices are searched, too (choice_class.hpp)
  /// Returns whether the element of the chain with this index may take this choice, like the filter
  /// of optimal(). An empty function permits every choice.
  std::function<bool(int, layer_choice const&)> permits{};
  /// Called when a better plan is found, when the search ends, and when an evaluation begins more
  /// than 0.2 s after the last call.
  std::function<void(progress const&)> on_progress{};
  /// A stop request ends the search, which then returns the best plan so far. The search checks the
  /// token before every evaluation.
  std::stop_token cancel{};
};

enum class ending : signed char { finished, out_of_budget, cancelled };

constexpr char const* to_string(ending e) {
  constexpr char const* names[] = {"finished", "out of budget", "cancelled"};
  return names[static_cast<int>(e)];
}

template <int N = dynamic_size>
struct basic_result {
  basic_plan<N> plan;      ///< plan.gap equals `gap`
  double lower_bound = 0;  ///< a lower bound in seconds, at most plan.seconds
  /// 1 - lower_bound / plan.seconds: the largest fraction of the time that another plan can save.
  double gap = 0;
  std::int64_t evaluations = 0;
  double seconds = 0;  ///< duration of the search
  /// The part of `seconds` spent on cost tables; 0 for algorithms that do not measure it.
  double tables = 0;
  ending how = ending::finished;
};

using search_result = basic_result<>;

namespace detail {

/// Two weights count as equal if their relative difference is below this.
inline constexpr double tie_margin = 1e-9;

/// Observes one run of an algorithm: its budget, its clock, its best weight, its lower bound and
/// its progress reports.
class watch {
 public:
  watch(char const* algorithm, options const& o)
      : algorithm_(algorithm), options_(o), bound_(o.lower_bound) {}

  /// Returns whether the search may do one more evaluation, and counts that evaluation.
  bool go_on() {
    if (over_) return false;
    if (options_.cancel.stop_requested()) return end(ending::cancelled);
    if (certified()) return end(ending::finished);
    if (options_.evaluations > 0 && evaluations_ >= options_.evaluations)
      return end(ending::out_of_budget);
    if (options_.seconds > 0 && evaluations_ % 64 == 63 && elapsed() >= options_.seconds)
      return end(ending::out_of_budget);
    ++evaluations_;
    if (options_.on_progress && time_.seconds() - reported_ > 0.2) report();
    return true;
  }

  /// Returns whether the search may go on, without counting an evaluation. Unlike go_on(), it looks
  /// at the clock each time.
  bool has_time() {
    if (over_) return false;
    if (options_.cancel.stop_requested()) return end(ending::cancelled);
    if (options_.evaluations > 0 && evaluations_ >= options_.evaluations)
      return end(ending::out_of_budget);
    if (options_.seconds > 0 && elapsed() >= options_.seconds) return end(ending::out_of_budget);
    return true;
  }

  /// Returns whether this weight of a plan (its seconds, plus a tiny amount for each collective) is
  /// less than the weights of all earlier plans. In this case, records it as the best weight.
  bool improves(double weight) {
    if (weight >= best_) return false;
    best_ = weight;
    report();
    return true;
  }

  /// Sets the lower bound to f(), unless a lower bound is known already. The time of f() does not
  /// count as search time.
  template <class F>
  void bound_by(F const& f) {
    if (bound_ > 0) return;
    stopwatch const bounding;
    bound_ = f();
    not_counted_ += bounding.seconds();
  }
  /// Marks the moment when the cost tables are complete.
  void tables_made() { tables_ = elapsed(); }

  /// Drops a bound that does not hold for the plan of the run.
  void drop_bound() { bound_ = 0; }
  void raise_bound(double bound) { bound_ = bound > bound_ ? bound : bound_; }

  double lower_bound() const { return bound_; }
  double best() const { return best_; }

  /// Returns the result of the run. `chosen` is the best plan that the run has found.
  template <int N>
  basic_result<N> finish(basic_plan<N> chosen) {
    basic_result<N> r;
    // Weights contain a tiny amount per collective, so the bound can exceed the plan's seconds
    // slightly. The bound in the result must not exceed the seconds.
    if (certified() || bound_ > chosen.seconds) bound_ = chosen.seconds;
    r.lower_bound = bound_;
    r.gap = chosen.seconds > 0 ? 1 - bound_ / chosen.seconds : 0;
    chosen.gap = r.gap;
    best_ = chosen.seconds < best_ ? chosen.seconds : best_;
    report();
    r.plan = static_cast<basic_plan<N>&&>(chosen);
    r.evaluations = evaluations_;
    r.seconds = elapsed();
    r.tables = tables_;
    r.how = over_ ? how_ : ending::finished;
    return r;
  }

  bool found() const { return best_ < unreachable; }
  bool over() const { return over_; }
  char const* algorithm() const { return algorithm_; }

  /// Throws an error that says why no plan was found.
  [[noreturn]] void refuse() const {
    std::string const tried = std::to_string(evaluations_) + " evaluations";
    throw error(std::string("search::") + algorithm_,
                over_ && how_ == ending::cancelled
                    ? "cancelled after " + tried + "; no plan that fits had been found."
                    : "no plan that fits in the machine's memory per rank was found in " + tried +
                          ". Give it a larger budget, or use search::optimal.");
  }

  /// Throws if nothing in the options can end the search.
  void demand_end() const {
    if (options_.evaluations > 0 || options_.seconds > 0 || options_.cancel.stop_possible()) return;
    throw error(std::string("search::") + algorithm_,
                "nothing in the options ends this search. Give it a budget of evaluations or "
                "seconds, or a stop token.");
  }

 private:
  bool certified() const { return bound_ > 0 && best_ <= bound_ * (1 + tie_margin); }
  double elapsed() const { return time_.seconds() - not_counted_; }
  bool end(ending how) {
    over_ = true;
    how_ = how;
    return false;
  }
  void report() {
    if (!options_.on_progress) return;
    options_.on_progress(
        {algorithm_, elapsed(), tables_, evaluations_, best_ < unreachable ? best_ : 0.0, bound_});
    reported_ = time_.seconds();
  }

  char const* algorithm_;
  options const& options_;
  stopwatch time_;
  double not_counted_ = 0;  ///< seconds spent in bound_by()
  double reported_ = 0;     ///< seconds when on_progress was called last
  double bound_, tables_ = 0;
  double best_ = unreachable;
  std::int64_t evaluations_ = 0;
  bool over_ = false;
  ending how_ = ending::finished;
};

/// Computes the cost tables of a problem. Search algorithms read all costs from these tables.
/// `again` is the number of recomputed segments, or a range of such numbers. Throws ashlar::error
/// if the mesh has more than most_exact_axes.
template <int N>
chain_model<N> model_of(basic_problem<N> const& net, topology const& t, machine const& m,
                        options const& o, recomputation const& again) {
  if (!is_exact_on(t)) refuse_axes("search", "this search");
  auto const prune = o.whole_space   ? pruning::keep_all
                     : m.memory == 0 ? pruning::by_time
                                     : pruning::by_time_and_memory;
  return o.permits ? chain_model<N>(net, t, m, o.permits, prune, again)
                   : chain_model<N>(net, t, m, any_choice{}, prune, again);
}
template <int N>
chain_model<N> model_of(basic_problem<N> const& net, topology const& t, machine const& m,
                        options const& o) {
  return model_of(net, t, m, o, {net.recomputed, net.recomputed});
}

}  // namespace detail
}  // namespace ashlar::search
