// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What every search algorithm is asked and what it answers, beside the plain calls such as
// optimal(net, t, m):
//
//   auto const found = search::coordinate_descent(net, t, m, {.seed = 1, .evaluations = 100'000});
//   found.plan, found.lower_bound, found.gap, found.how            // algorithms.hpp: all, by name
//
//   evaluation    one plan priced, whole or by what a change makes of it
//   seconds       of the clock, tables of costs included, the lower bound not: it is no part of the
//                 algorithm. exact() proves its own.
//   lower bound   no plan below the memory limit is faster: the optimum without a limit if that
//                 fits, else the dual of the limit (lagrangian.hpp). To 1e-9, as ties are broken.
//   recomputed    are as many segments as the problem says; only optimal and exact search for more
//   the end       by the budget, by the stop token, or by itself: when the plan is certified to be
//                 the optimum, or when nothing is left to try
//
// Equal seeds and evaluations give equal results, on every machine; a budget of seconds does not.

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

/// Where a running search stands.
struct progress {
  char const* algorithm = "";
  double seconds = 0;            ///< since it began
  double tables = 0;             ///< of them, what the tables of costs took
  std::int64_t evaluations = 0;  ///< so far
  double best = 0;         ///< predicted seconds of the best plan so far; 0 while there is none
  double lower_bound = 0;  ///< of any plan's
};

struct options {
  std::uint64_t seed = 0;
  std::int64_t evaluations = 0;  ///< at most so many; 0: no limit
  double seconds = 0;            ///< at most about so long, at least 63 evaluations; 0: no limit
  double lower_bound = 0;        ///< if the caller has one; 0: it is computed
  bool whole_space = false;  ///< also choices that another one makes needless (choice_class.hpp)
  std::function<bool(int, layer_choice const&)> permits{};  ///< as the filter of optimal()
  std::function<void(progress const&)> on_progress{};  ///< at every better plan and at the end, and
                                                       ///< after every 65,536 evaluations
  std::stop_token cancel{};  ///< asked before every evaluation; the best so far is returned
};

enum class ending : signed char { finished, out_of_budget, cancelled };

constexpr char const* to_string(ending e) {
  constexpr char const* names[] = {"finished", "out of budget", "cancelled"};
  return names[static_cast<int>(e)];
}

template <int N = dynamic_size>
struct basic_result {
  basic_plan<N> plan;      ///< plan.gap as below
  double lower_bound = 0;  ///< seconds; at most plan.seconds
  double gap = 0;  ///< 1 - lower_bound / plan.seconds: the optimum is at most this share faster
  std::int64_t evaluations = 0;
  double seconds = 0;  ///< that the search took
  double tables = 0;   ///< of them, what the tables of costs took, where walks share them
  ending how = ending::finished;
};

using search_result = basic_result<>;

namespace detail {

/// Differences below are ties.
inline constexpr double tie_margin = 1e-9;

/// The budget, the clock and the reports of one run.
class watch {
 public:
  watch(char const* algorithm, options const& o)
      : algorithm_(algorithm), options_(o), start_(clock::now()), bound_(o.lower_bound) {}

  /// Whether one more evaluation is permitted and worth it, which is then counted.
  bool go_on() {
    if (over_) return false;
    if (options_.cancel.stop_requested()) return end(ending::cancelled);
    if (certified()) return end(ending::finished);
    if (options_.evaluations > 0 && evaluations_ >= options_.evaluations)
      return end(ending::out_of_budget);
    if (options_.seconds > 0 && evaluations_ % 64 == 63 && elapsed() >= options_.seconds)
      return end(ending::out_of_budget);
    if (++evaluations_ % 65'536 == 0) report();
    return true;
  }

  /// Takes note of a plan's weight. True if it is the least so far.
  bool improves(double weight) {
    if (weight >= best_) return false;
    best_ = weight;
    report();
    return true;
  }

  /// Bounds what any plan takes. `f()`: computes it, off the clock.
  template <class F>
  void bound_by(F const& f) {
    if (bound_ > 0) return;
    auto const before = clock::now();
    bound_ = f();
    start_ += clock::now() - before;
  }
  /// The tables are made, the search proper begins.
  void tables_made() { tables_ = elapsed(); }

  void raise_bound(double bound) { bound_ = bound > bound_ ? bound : bound_; }

  double lower_bound() const { return bound_; }
  double best() const { return best_; }

  /// The answer: `chosen` is the best plan, of the weight last said to improve.
  template <int N>
  basic_result<N> finish(basic_plan<N> chosen) {
    basic_result<N> r;
    // A plan of the same seconds may have a collective more, or less.
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

  /// Throws: there is no plan to return.
  [[noreturn]] void refuse() const {
    std::string const tried = std::to_string(evaluations_) + " evaluations";
    throw error(std::string("search::") + algorithm_,
                over_ && how_ == ending::cancelled
                    ? "cancelled after " + tried + ", before any plan that fits was found."
                    : "no plan that fits in the machine's memory per rank was found in " + tried +
                          ". Give it more, or use search::optimal.");
  }

  /// Throws if nothing would ever end the search.
  void demand_end() const {
    if (options_.evaluations > 0 || options_.seconds > 0 || options_.cancel.stop_possible()) return;
    throw error(
        std::string("search::") + algorithm_,
        "it may run for ever. Give it a budget of evaluations or seconds, or a stop token.");
  }

 private:
  using clock = std::chrono::steady_clock;

  bool certified() const { return bound_ > 0 && best_ <= bound_ * (1 + tie_margin); }
  double elapsed() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
  bool end(ending how) {
    over_ = true;
    how_ = how;
    return false;
  }
  void report() const {
    if (options_.on_progress)
      options_.on_progress({algorithm_, elapsed(), tables_, evaluations_,
                            best_ < unreachable ? best_ : 0.0, bound_});
  }

  char const* algorithm_;
  options const& options_;
  clock::time_point start_;
  double bound_, tables_ = 0;
  double best_ = unreachable;
  std::int64_t evaluations_ = 0;
  bool over_ = false;
  ending how_ = ending::finished;
};

/// The tables of a problem as the options want them.
template <int N>
chain_model<N> model_of(basic_problem<N> const& net, topology const& t, machine const& m,
                        options const& o, recomputation const& again) {
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
