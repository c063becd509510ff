// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the plan whose step takes the least time if redistributions overlap with computations
// (problem::overlap). To price a plan, the passes of step/overlapped.hpp transform its program, and
// the timeline (step/timeline.hpp) gives the seconds of the result. The search has these steps for
// each number of micro-batches that may take turns:
//
//   serial plan   The plan of least serial seconds (optimal.hpp) is priced first.
//   known plans   Plans that HiDup's search (hidup_search.hpp) finds are priced: one that splits
//                 each tensor along one dim, if two micro-batches take turns, and a data-parallel
//                 one, whose gradients overlap best.
//   candidates    turn_search.hpp lists plans in ascending order of a lower bound of their seconds.
//   pricing       Candidates are priced until the next bound is not below the seconds of the best
//                 plan, or until `most_priced` candidates have been priced.
//
// Without recomputation and on up to three axes, no plan with this number of micro-batches in turns
// takes fewer seconds than the least bound of the candidates. In all other cases the bound counts
// only the computations.
//
// The serial plan is always priced. Each other priced plan counts as one evaluation in the budget
// of the watch (algorithm.hpp). When this budget ends, the result is the best plan so far, with the
// bound that has been proved until then. The watch's effort (search_effort.hpp) limits the labels
// (partial plans) of all searches.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ashlar/search/branch_limits.hpp>
#include <ashlar/search/layout_rows.hpp>
#include <ashlar/search/overlap/hidup_search.hpp>
#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/search/overlap/turn_model.hpp>
#include <ashlar/search/overlap/turn_search.hpp>
#include <ashlar/search/search_effort.hpp>
#include <ashlar/search/unproven_refusal.hpp>
#include <ashlar/step/high_water.hpp>

namespace ashlar::search {
namespace detail {

/// The watch of the search for the serial plan. It obeys the budget of `watch`, but passes on no
/// bounds and no plans, because their seconds are those of steps without overlap.
template <class Watch>
struct serial_watch {
  Watch& watch;
  search_effort effort{};

  explicit serial_watch(Watch& of) : watch(of) { effort.labels = effort_of(of).labels; }
  bool go_on() { return watch.has_time(); }
  bool has_time() { return watch.has_time(); }
  bool improves(double) { return true; }
  void raise_bound(double) {}
};

template <class Watch>
class overlapped_search {
 public:
  static constexpr int most_priced = 24, most_axes = 3;
  static constexpr std::int64_t most_labels = 200'000;
  /// The search ends when the gap is at most this, since more labels would hardly make a plan
  /// faster.
  static constexpr double good_enough = 0.002;

  overlapped_search(problem const& net, topology const& t, machine const& m, Watch& watch)
      : net_(net), mesh_(t), machine_(m), watch_(watch) {
    net_.overlap = false;
  }

  /// Searches the plans in which `turns` micro-batches take turns, and updates the best plan and
  /// the bound. `serial(problem)` returns the plan of least serial seconds.
  template <class Filter, class Serial>
  void consider(int turns, Filter const& filter, Serial const& serial) {
    net_.interleaved = turns;
    price(serial(net_));
    int axes = 0;
    for (int a = 0; a < mesh_.axes(); ++a) axes += mesh_.extent(a) > 1;
    if (axes > most_axes || net_.recomputed > 0 || best_.recomputed > 0 || !watch_.has_time())
      return bound_by_work();
    if (turns_at_once(net_) == 2)
      price_hidup(filter, [&](int, layer_choice const& c) { return splits_one_dim(c, mesh_); });
    price_hidup(filter,
                [&](int i, layer_choice const& c) { return is_data_parallel(net_, i, c, mesh_); });
    turn_model model(net_, mesh_, machine_, filter);
    // The first rounds, with few labels, find a good plan. Later rounds prove how good it is.
    double const tolerance = axes > 1 ? good_enough * best_.seconds : 0;
    double least = 0;
    for (int const labels : {2, 10, 50, 400}) {
      double const limit = best_.seconds;
      turn_search search(model.chain(), {limit, labels, tolerance, effort_of(watch_).labels,
                                         [this] { return watch_.has_time(); }});
      auto const found = search.run();
      for (std::size_t k = 0; k < found.size() && k < most_priced; ++k) {
        if (found[k].bound >= best_.seconds * (1 - 1e-9) || !watch_.go_on()) break;
        price(model.plan_of(found[k].choices));
      }
      double const reached = found.empty() ? limit : found[0].bound;
      least = std::max(least, std::min({limit, search.lost(), reached}) - tolerance);
      if (least >= best_.seconds * (1 - good_enough) || search.lost() >= reached ||
          search.labels() > std::min(most_labels, effort_of(watch_).labels) || !watch_.has_time())
        break;
    }
    bound_by(least);
  }

  /// Takes the seconds of a step without communication as the lower bound for those numbers of
  /// turns that are not searched.
  void bound_by_work() { bound_by(least_work()); }

  plan best() const {
    plan chosen = best_;
    double const bound = std::min(std::max(bound_, least_work()), chosen.seconds);
    chosen.gap = bound < chosen.seconds * (1 - 1e-9) ? 1 - bound / chosen.seconds : 0;
    return chosen;
  }

 private:
  /// Returns the seconds of the work of a step if all ranks share it equally.
  double least_work() const {
    double work = 0;
    for (int i = 0; i < net_.size(); ++i)
      work += whole_work_seconds(net_.spec(i), machine_, net_.element_size);
    return net_.micro_batches * work / mesh_.ranks();
  }

  /// Runs HiDup's search with few labels, and prices the plan that it finds. The search uses only
  /// choices that both the filter and is_one(i, choice) permit. Does nothing if a layer has no such
  /// choice or if the budget has ended.
  template <class Filter, class IsOne>
  void price_hidup(Filter const& filter, IsOne const& is_one) {
    std::optional<turn_model> model;
    try {
      model.emplace(net_, mesh_, machine_,
                    [&](int i, layer_choice const& c) { return is_one(i, c) && filter(i, c); });
    } catch (error const&) {
      return;  // some layer has no permitted choice
    }
    if (!watch_.go_on()) return;
    hidup_search search(model->chain(), net_.micro_batches);
    price(model->plan_of(search.run(hidup_search::few_labels).second));
  }

  void bound_by(double seconds) { bound_ = bound_ < 0 ? seconds : std::min(bound_, seconds); }

  void price(plan chosen) {
    auto const made = overlapped_program(net_, chosen, machine_);
    // The first plan is that of least serial seconds. It fits in memory in any case.
    bool const fits = machine_.memory == 0 || high_water(made.made).peak <= machine_.memory;
    if (best_.size() > 0 && (!fits || made.seconds >= best_.seconds)) return;
    chosen.seconds = made.seconds;
    chosen.communication_seconds = timeline_of(made.made, machine_).exposed;
    best_ = std::move(chosen);
    watch_.improves(best_.seconds);
  }

  problem net_;
  topology mesh_;
  machine machine_;
  Watch& watch_;
  plan best_;
  double bound_ = -1;
};

/// Throws ashlar::error if the problem fails the checks of check_turns.hpp or check_problem.hpp,
/// has a branch, may update parameters apart from their storage, or lets too many micro-batches
/// take turns.
inline void check_overlapped(problem const& net, topology const& t, machine const& m) {
  check_turns(net, "search");
  problem serial = net;
  serial.overlap = false;
  serial.interleaved = net.interleaved > 0 ? net.interleaved : least_turns(net);
  check_problem(serial, t, m);
  demand_no_branches(net, "search::optimal for the least overlapped time");
  if (net.updates_apart)
    throw error("search::optimal",
                "a search of the least overlapped time does not update parameters apart from their "
                "storage. Leave problem::updates_apart off, or problem::overlap.");
  if (serial.interleaved > max_turns)
    throw error("search::optimal", std::to_string(serial.interleaved) +
                                       " micro-batches are too many for a search of the least "
                                       "overlapped time. Set interleaved to at most " +
                                       std::to_string(max_turns) + ".");
}

/// Returns the plan of least overlapped seconds. Its communication_seconds are the seconds for
/// which the processor waits. `find_serial(problem, watch)` returns the plan of least serial
/// seconds of a problem.
template <class Filter, class Serial, class Watch>
plan overlapped_plan(problem const& net, topology const& t, machine const& m, Filter const& filter,
                     Serial const& find_serial, Watch& watch) {
  check_overlapped(net, t, m);
  int const least = net.interleaved > 0 ? net.interleaved : least_turns(net);
  int const most = std::min(4, net.micro_batches);
  auto const serial = [&](problem const& one) {
    serial_watch<Watch> part(watch);
    return find_serial(one, part);
  };
  auto const with_storages = [&](problem const& settled) {
    overlapped_search search(settled, t, m, watch);
    try {
      search.consider(least, filter, serial);
    } catch (unproven_refusal const& e) {
      throw unproven_refusal(e, 0);  // its bound is one of serial seconds, not of overlapped ones
    }
    for (int turns = least + 1; net.interleaved == 0 && turns <= most; ++turns) {
      if (!can_take_turns(net, turns)) continue;
      if (!watch.has_time()) {
        search.bound_by_work();
        break;
      }
      try {
        search.consider(turns, filter, serial);
      } catch (error const&) {
        // The usual reason is that no plan fits in memory, and more turns need even more memory.
        // Other reasons are that the budget has ended or that the program is too long.
        search.bound_by_work();
        break;
      }
    }
    return search.best();
  };
  return best_storage(net, t, !std::is_same_v<Filter, any_choice>, with_storages,
                      [&] { return watch.has_time(); });
}

}  // namespace detail
}  // namespace ashlar::search
