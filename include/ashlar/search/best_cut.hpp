// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds where to cut a chain into pipeline stages for one schedule, and in which order the passes
// run, for the shortest step within a memory limit. The placements are given (cut_costs.hpp). A
// unit is the part of the chain between two neighbouring points at which it may be cut.
//
//   few cuts    All cuts are tried in ascending order of a lower bound, until the bound reaches the
//               seconds of the best step so far. So no other cut is better. For the schedules
//               `searched`, `delayed` and zb_*, this holds only for the orders of passes that
//               were tried.
//   many cuts   Dynamic programming over the cutting points finds the cut whose largest stage bound
//               is least, and among such cuts the one with the most equal stages. Then single
//               cutting points are moved as long as the replayed step becomes shorter.
//
// Let a step have m micro-batches, and let a stage take u seconds for both passes of one of them.
// The step takes at least
//
//   h + m u + g   under every schedule
//   b + m u       if each part holds one stage and backward passes are whole
//
//   h, b   the seconds of the forward passes (h) or of both passes (b) of one micro-batch in all
//          earlier stages
//   g      the seconds of what follows the passes of the stage: the synchronization of its
//          gradients, and the crossings, in both directions, of tied parameters whose later use is
//          in this stage
//
// So later stages are best a little shorter than earlier ones. These bounds do not count transfers
// between stages. Transfers depend on where the other stages begin, and only make a step longer.
// The bound of a whole cut (step/pipeline/bound.hpp) counts them.

#include <utility>

#include <ashlar/search/cut_costs.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/search/warm_ups_within.hpp>
#include <ashlar/step/pipeline/bound.hpp>

namespace ashlar::search {

/// A cut with its order of passes. `limits` has the first element of each stage and the number of
/// all elements, as limits_of returns them.
struct found_cut {
  std::vector<int> limits;
  pipelines::schedule order;
  double seconds = unreachable;
  /// Says whether a cut that may be faster exceeds the memory limit.
  bool is_limited = false;
};

namespace detail {

class cut_search {
 public:
  /// Finds only cuts with which a step takes fewer than `known` seconds. `limit` is the most bytes
  /// per rank; 0 means no limit.
  cut_search(cut_costs& net, schedule_choice choice, int parts, int micro_batches,
             std::int64_t limit, double known)
      : net_(net), choice_(choice), shape_(choice.shape(parts, micro_batches)), limit_(limit) {
    best_.seconds = known;
  }

  /// Prices one cut with the order of passes that the schedule has for it. `cut` has the first unit
  /// of each stage and the number of all units.
  void take(std::vector<int> const& cut) {
    auto const stages = net_.stages(cut, shape_);
    auto const skips = net_.skips(cut, shape_);
    if (least(stages, skips) >= best_.seconds * nearly) return;
    // A cut that does not fit in memory with any order of passes can only set is_limited. If
    // is_limited is set already, such a cut is not priced.
    if (best_.is_limited && !fits_in_some_order(cut)) return;
    auto const costs = costs_of(stages);
    std::vector<int> most(static_cast<std::size_t>(shape_.positions), shape_.micro_batches);
    auto const with = [&] {
      keep(cut, stages, costs, skips,
           make_schedule(choice_, shape_.positions, shape_.micro_batches, costs, most, skips));
    };
    bool const delays = choice_.kind == schedule_kind::delayed;
    if ((choice_.kind != schedule_kind::searched && !delays) || limit_ == 0) {
      with();
      // If the order of passes for these costs exceeds the memory, the one for equal costs may fit.
      if (limit_ > 0 && choice_.fits_costs())
        keep(cut, stages, costs, skips,
             make_schedule(choice_, shape_.positions, shape_.micro_batches, {}, {}));
      return;
    }
    auto const any = most;
    // `fits` says whether every stage has memory for at least one micro-batch in flight. `is_short`
    // says whether some stage has memory for fewer micro-batches than 1F1B has in flight there.
    bool fits = true, is_short = false;
    std::vector<std::int64_t> held;
    for (std::size_t k = 0; k < most.size(); ++k) {
      auto const b = net_.bytes(cut[k], cut[k + 1]);
      held.push_back(b.held);
      fits = fits && b.one <= limit_;
      if (b.held > 0)
        most[k] = static_cast<int>(std::min<std::int64_t>(most[k], 1 + (limit_ - b.one) / b.held));
      is_short = is_short || most[k] < std::min(any[k], static_cast<int>(any.size() - k));
      if (choice_.in_flight > 0) most[k] = std::min(most[k], choice_.in_flight);
    }
    if (fits)
      try_warm_ups_within(
          shape_.micro_batches, costs, skips, delays, most, held,
          [&](pipelines::schedule const& order) { keep(cut, stages, costs, skips, order); },
          [&](pipelines::schedule const& order) { return excess_of(cut, order); });
    most = any;
    if (!fits || is_short) with();  // shows whether more memory would help
  }

  /// Tries all cuts. Expects at most most_cuts of them.
  void take_all() {
    std::vector<std::pair<double, std::vector<int>>> all;
    std::vector<int> cut{0};
    list_cuts(cut, all);
    std::sort(all.begin(), all.end());
    for (auto const& [bound, it] : all) {
      if (bound >= best_.seconds * nearly) break;
      take(it);
    }
  }

  /// Tries the cut that balanced() finds.
  void take_balanced() {
    if (auto const cut = balanced(limit_); !cut.empty()) take(cut);
    else if (limit_ > 0) best_.is_limited = true;
  }
  /// Moves cutting points of the best cut by one unit as long as the step becomes shorter.
  void improve() {
    double const passes = 3. * shape_.stages() * shape_.micro_batches;
    double left = most_passes;
    for (int round = 0; round < 2 && !cut_.empty(); ++round) {
      double const before = best_.seconds;
      for (bool better = true; better && left > 0;) {
        better = false;
        for (std::size_t k = 1; k + 1 < cut_.size(); ++k)
          for (int const by : {-1, 1}) {
            if ((left -= passes) < 0) break;
            auto other = cut_;
            other[k] += by;
            if (other[k] <= other[k - 1] || other[k] >= other[k + 1]) continue;
            better = keep_order(other) || better;
          }
      }
      if (!choice_.fits_costs() || best_.seconds == before) break;
      take(std::vector<int>(cut_));  // makes an order for the new costs
    }
  }

  /// Returns the number of all cuts, at most most_cuts + 1.
  int count() const {
    double number = 1;
    for (int k = 1; k < shape_.stages(); ++k) number *= double(net_.units() - k) / k;
    return net_.units() < shape_.stages() ? 0
           : number > most_cuts           ? most_cuts + 1
                                          : static_cast<int>(number + 0.5);
  }

  found_cut const& best() const { return best_; }
  bool found() const { return !cut_.empty(); }

  static constexpr int most_cuts = 20'000;

  /// Returns a lower bound of the seconds of a step with the cut `limits` (as limits_of returns
  /// it). If `limits` is empty, the bound holds for every cut. But if there are more than most_cuts
  /// cuts, the result is only the bound of the cut balanced(0). Returns `unreachable` if no cut
  /// exists.
  double least_of(std::vector<int> const& limits) const {
    if (!limits.empty()) return least_of_cut(units_of(net_.points(), limits));
    if (net_.units() < shape_.stages()) return unreachable;
    auto const cut = balanced(0);
    if (count() > most_cuts) return least_of_cut(cut);
    double bound = 0;
    for (std::size_t k = 0; k + 1 < cut.size(); ++k)
      bound = std::max(bound, bound_of(net_.stage(cut[k], cut[k + 1], false), cut[k], cut[k + 1]));
    // The busiest part takes at least the average over all parts. Each cut removes redistributions
    // at one place. The average leaves out those of the costliest places, one place for each cut.
    auto const all = net_.stage(0, net_.units(), false);
    double const left = all.seconds - net_.most_saved(shape_.stages() - 1);
    return std::max(bound, (shape_.micro_batches * left + all.synchronize) / shape_.positions);
  }

  /// Returns the cut that dynamic programming finds within `limit` bytes per rank (0: no limit), or
  /// an empty list if there is none. The memory of the stages is only estimated.
  std::vector<int> balanced(std::int64_t limit) const {
    int const units = net_.units(), stages = shape_.stages();
    if (units < stages) return {};
    auto const bytes = limit > 0 ? unit_bytes() : std::vector<stage_bytes>{};
    auto const fits = [&](int k, int i, int j) {
      if (limit == 0) return true;
      auto const &a = bytes[std::size_t(i)], &b = bytes[std::size_t(j)];
      return b.lasting - a.lasting + depth(k) * (b.held - a.held) <= limit / shape_.chunks;
    };
    auto const sized = static_cast<std::size_t>(units) + 1;
    auto const mean = net_.stage(0, units, false).seconds / stages;
    std::vector<double> bounds(sized * sized), off(sized * sized);
    auto const at = [&](int i, int j) {
      return static_cast<std::size_t>(i) * sized + static_cast<std::size_t>(j);
    };
    for (int i = 0; i < units; ++i)
      for (int j = i + 1; j <= units; ++j) {
        auto const s = net_.stage(i, j, false);
        bounds[at(i, j)] = bound_of(s, i, j);
        off[at(i, j)] = (s.seconds / mean - 1) * (s.seconds / mean - 1);
      }
    double target = unreachable;
    std::vector<std::vector<int>> from;
    for (bool const even : {false, true}) {
      std::vector<double> reached(sized, unreachable);
      reached[0] = 0;
      from.assign(static_cast<std::size_t>(stages), std::vector<int>(sized, -1));
      for (int k = 0; k < stages; ++k) {
        std::vector<double> next(sized, unreachable);
        for (int i = k; i < units; ++i) {
          double const so_far = reached[std::size_t(i)];
          if (so_far == unreachable) continue;
          for (int j = i + 1; j <= units - (stages - 1 - k); ++j) {
            double const bound = bounds[at(i, j)];
            if ((even && bound > target * (1 + 1e-9)) || !fits(k, i, j)) break;
            double const sum = even ? so_far + off[at(i, j)] : std::max(so_far, bound);
            if (sum >= next[std::size_t(j)]) continue;
            next[std::size_t(j)] = sum;
            from[std::size_t(k)][std::size_t(j)] = i;
          }
        }
        reached = next;
      }
      if (!even) target = reached[std::size_t(units)];
      if (reached[std::size_t(units)] == unreachable) return {};
    }
    std::vector<int> cut{units};
    for (int k = stages; k-- > 0;)
      cut.insert(cut.begin(), from[std::size_t(k)][std::size_t(cut.front())]);
    return cut;
  }

 private:
  static constexpr double nearly = 1 - 1e-12;
  static constexpr double most_passes = 3e6;  // improve() replays at most this many passes

  bool is_plain() const { return shape_.chunks == 1 && !choice_.splits(); }

  /// Returns the lower bound of the step's seconds that follows from one stage (top of this file).
  double bound_of(pipeline_stage const& s, int first_unit, int last_unit) const {
    double const m = shape_.micro_batches;
    auto const before = net_.stage(0, first_unit, false);
    double const head = first_unit == 0 ? 0 : before.forward;
    // If each part holds one stage, the tied parameters whose first use is on an earlier stage
    // cross to this one. If parts hold several stages, it is not known here which tied parameters
    // cross, so none of them counts.
    double const ties = shape_.chunks == 1 ? net_.tie_seconds(first_unit, last_unit) : 0;
    double const waits = head + m * s.seconds + s.synchronize + ties;
    if (!is_plain()) return waits;
    return std::max(waits, m * s.seconds + (first_unit == 0 ? 0 : before.seconds));
  }

  /// Returns a lower bound of the step's seconds for a cut.
  double least(std::vector<pipeline_stage> const& stages,
               pipelines::skip_transfers const& skips) const {
    std::vector<double> after;
    for (auto const& s : stages) after.push_back(s.synchronize);
    return pipelines::bound(shape_, costs_of(stages), choice_.splits(), skips, after);
  }
  double least_of_cut(std::vector<int> const& cut) const {
    return least(net_.stages(cut, shape_), net_.skips(cut, shape_));
  }

  void list_cuts(std::vector<int>& cut, std::vector<std::pair<double, std::vector<int>>>& all) {
    int const left = shape_.stages() - static_cast<int>(cut.size());
    if (left == 0) {
      auto whole = cut;
      whole.push_back(net_.units());
      double const bound = least_of_cut(whole);
      if (bound < best_.seconds * nearly) all.emplace_back(bound, whole);
      return;
    }
    for (int next = cut.back() + 1; next + left <= net_.units(); ++next) {
      cut.push_back(next);
      list_cuts(cut, all);
      cut.pop_back();
    }
  }

  /// Returns a lower bound of the number of micro-batches that stage k has in flight.
  int depth(int k) const {
    int const m = shape_.micro_batches, s = shape_.positions;
    switch (choice_.kind) {
      case schedule_kind::one_f_one_b: return std::min(m, s - k);
      case schedule_kind::eager: return std::min(m, 2 * (s - k) - 1);
      case schedule_kind::gpipe: return m;
      default: return 1;
    }
  }

  std::vector<stage_bytes> unit_bytes() const {
    std::vector<stage_bytes> sums(1);
    for (int u = 0; u < net_.units(); ++u) {
      auto const own = net_.bytes(u, u + 1);
      auto sum = sums.back();
      sum.lasting += own.lasting;
      sum.held += own.held;
      sums.push_back(sum);
    }
    return sums;
  }

  /// Returns whether every part has room for one micro-batch at a time.
  bool fits_in_some_order(std::vector<int> const& cut) const {
    auto const bytes = net_.bytes(cut);
    for (int p = 0; p < shape_.positions && limit_ > 0; ++p) {
      std::int64_t lasting = 0, more = 0;
      for (int c = 0; c < shape_.chunks; ++c) {
        auto const& own = bytes[static_cast<std::size_t>(shape_.stage_of(p, c))];
        lasting += own.lasting;
        more = std::max(more, own.one - own.lasting);
      }
      if (lasting + more > limit_) return false;
    }
    return true;
  }
  /// Returns the bytes by which each part exceeds the limit. The number of a part that does not
  /// exceed the limit is negative or 0.
  std::vector<std::int64_t> excess_of(std::vector<int> const& cut,
                                      pipelines::schedule const& order) {
    pipeline_memory const memory(order, net_.boundaries(cut), net_.bytes_of_skips(cut));
    auto const bytes = net_.bytes(cut);
    std::vector<std::int64_t> excess;
    for (int p = 0; p < order.positions; ++p) excess.push_back(memory.of_part(p, bytes) - limit_);
    return excess;
  }
  bool fits(std::vector<int> const& cut, pipelines::schedule const& order) {
    if (limit_ == 0) return true;
    auto const excess = excess_of(cut, order);
    if (*std::max_element(excess.begin(), excess.end()) <= 0) return true;
    best_.is_limited = true;
    return false;
  }

  bool keep(std::vector<int> const& cut, std::vector<pipeline_stage> const& stages,
            pipelines::pipeline_costs const& costs, pipelines::skip_transfers const& skips,
            pipelines::schedule const& order) {
    double const seconds = seconds_of_step(order, costs, stages, skips);
    if (seconds < 0 || seconds >= best_.seconds * nearly || !fits(cut, order)) return false;
    best_.seconds = seconds;
    best_.order = order;
    best_.limits.clear();
    for (auto const u : cut) best_.limits.push_back(net_.points()[static_cast<std::size_t>(u)]);
    cut_ = cut;
    return true;
  }

  /// Tries a cut with the order of passes of the best cut. Returns whether the new cut is faster.
  bool keep_order(std::vector<int> const& cut) {
    auto const stages = net_.stages(cut, shape_);
    auto const skips = net_.skips(cut, shape_);
    if (least(stages, skips) >= best_.seconds * nearly) return false;
    return keep(cut, stages, costs_of(stages), skips, pipelines::schedule(best_.order));
  }

  cut_costs& net_;
  schedule_choice choice_;
  pipelines::schedule shape_;
  std::int64_t limit_;
  std::vector<int> cut_;  // the cut of best_, as units
  found_cut best_;
};

}  // namespace detail

/// Returns the best cut for a schedule, with its order of passes. `limits` of the result is empty
/// if no cut takes less than `known` seconds within `limit` bytes per rank (0: no limit). Expects
/// that the schedule permits these numbers of parts and micro-batches.
///   given      a cut to try first, as limits_of returns it; empty: none
///   any_cuts   whether other cuts are tried, too
inline found_cut best_cut(cut_costs& net, schedule_choice const& choice, int parts,
                          int micro_batches, std::int64_t limit, double known,
                          std::vector<int> const& given, bool any_cuts) {
  detail::cut_search search(net, choice, parts, micro_batches, limit, known);
  if (!given.empty()) search.take(detail::units_of(net.points(), given));
  if (any_cuts && search.count() > 0) {
    if (search.count() <= detail::cut_search::most_cuts) {
      search.take_all();
    } else {
      search.take_balanced();
      search.improve();
    }
  }
  auto found = search.best();
  if (!search.found()) found.limits.clear();
  return found;
}

}  // namespace ashlar::search
