// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches for strategies of a plan's parameters with which a step takes few seconds, if
// communication overlaps with computations (problem::overlap). The seconds are those of the
// timeline of the program, after the passes of step/overlapped.hpp. They are not a sum over the
// parameters, so the search need not find the optimum. A lower bound tells how good the result is
// (link_bound.hpp):
//
//   start     the best of the serial optimum and of the builders (all-reduce, ZeRO-1 and 3, owners,
//             and hybrid sharding along each axis)
//   changes   Equal parameters, such as those of all blocks of a net, form a group and get another
//             strategy together: other placements with the same wire, or another wire at the same
//             placements. A change that saves seconds is kept. A round tries all groups, those with
//             the most elements first. The search ends when a round changes nothing or enough plans
//             have been priced.
//
// Plans whose programs exceed the memory limit, in steps with wires or in plain steps, are passed
// over.

#include <algorithm>
#include <optional>
#include <vector>

#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/sync/all_reduce.hpp>
#include <ashlar/sync/hybrid.hpp>
#include <ashlar/sync/link_bound.hpp>
#include <ashlar/sync/serial_optimum.hpp>
#include <ashlar/sync/zero.hpp>

namespace ashlar::sync::detail {

class overlapped_optimum {
 public:
  /// Expects that as many micro-batches take turns in the problem as in the plan.
  overlapped_optimum(search::problem const& net, search::plan const& chosen, machine const& m,
                     int most_priced, wire_list const& wires = lossless)
      : net_(net), start_(chosen), machine_(m), wires_(wires), left_(most_priced) {}

  optimum run(int effort) {
    std::optional<error> refused;
    try {
      consider(serial_optimum<search::dynamic_size>(net_, start_, machine_, effort, wires_)
                   .run()
                   .chosen);
    } catch (error const& e) {
      // The passes of step/overlapped.hpp may yet make a program fit, but this is rare.
      refused = e;
    }
    auto unlimited = machine_;
    unlimited.memory = 0;
    consider(all_reduce{}(net_, start_, unlimited));
    consider(zero<1>{}(net_, start_, unlimited));
    consider(zero<3>{}(net_, start_, unlimited));
    consider(owners{}(net_, start_, unlimited));
    for (auto const& axis : start_.mesh.axis)
      for (auto const values : {reads::local_copies, reads::at_use})
        consider(hybrid{axis.name.view(), values}(net_, start_, unlimited));
    if (!best_ && refused) throw *refused;
    change_groups();
    optimum made{*best_, 0, 0};
    made.bound = std::min(overlapped_bound(net_, start_, machine_, wires_), best_->seconds);
    double const less = best_->seconds - made.bound;
    made.gap = less > 1e-9 * best_->seconds ? less / best_->seconds : 0;
    return made;
  }

 private:
  struct group {
    search::parameter_choice placements;
    shape extents;
    std::vector<std::pair<int, int>> members;  ///< element and index of each parameter
    double elements() const { return double(members.size()) * double(extents.elements()); }
  };

  /// Prices a plan, and keeps it if it fits and takes fewer seconds than the best plan so far.
  /// Returns whether the plan was kept.
  bool consider(search::plan made) {
    --left_;
    auto const priced = overlap_of(net_, made, machine_);
    if (best_ && priced.seconds() >= best_->seconds * (1 - rounding)) return false;
    if (!fits(priced.made)) return false;
    if (is_plain_step(made, 0) && !fits(overlap_of(net_, without_wires(made), machine_).made))
      return false;
    made.seconds = priced.seconds();
    made.communication_seconds = priced.when.exposed;
    best_ = std::move(made);
    return true;
  }

  bool fits(search::program const& made) const {
    return machine_.memory == 0 || high_water(made).peak <= machine_.memory;
  }

  std::vector<group> groups() const {
    std::vector<group> list;
    for (int i = 0; i < net_.size(); ++i)
      for (int k = 0; k < start_[i].parameters.size(); ++k) {
        auto const& spec = net_.spec(i).parameters[k];
        if (spec.tie == search::tie_role::later) continue;
        auto const& p = start_[i].parameters[k];
        auto at = std::find_if(list.begin(), list.end(), [&](group const& g) {
          return g.extents == spec.extents && g.placements == p;
        });
        if (at == list.end()) at = list.insert(at, {p, spec.extents, {}});
        at->members.push_back({i, k});
      }
    std::stable_sort(list.begin(), list.end(),
                     [](group const& a, group const& b) { return a.elements() > b.elements(); });
    return list;
  }

  void change_groups() {
    auto const all = groups();
    auto unlimited = machine_;
    unlimited.memory = 0;
    for (bool changed = true; changed && left_ > 0;) {
      changed = false;
      for (auto const& g : all)
        for (auto const& s : strategies(g.placements, g.extents, start_.mesh, wires_)) {
          if (left_ <= 0) return;
          auto const [i, k] = g.members[0];
          auto const& now = (*best_)[i].parameters[k];
          // Strategies with owners are left out, because owners are assigned to all parameters of a
          // plan together and not to one group.
          bool const moves = !(now.store == s.store && now.update == s.update);
          if (s.updated_at().has_owned() || moves == !(now.wire == s.wire)) continue;
          changed = consider(with(g, s, unlimited)) || changed;
        }
    }
  }

  /// Returns the best plan so far, changed so that all parameters of group `g` have strategy `s`.
  search::plan with(group const& g, search::parameter_choice const& s, machine const& m) const {
    auto made = *best_;
    for (auto const& [i, k] : g.members) {
      auto& p = made.choices[static_cast<std::size_t>(i)].parameters[k];
      p.store = s.store;
      p.update = s.update;
      p.wire = s.wire;
      for (auto const& t : net_.ties)  // changed_plan gives the later use this wire if it fits
        if (t.first == i && t.first_index == k)
          made.choices[static_cast<std::size_t>(t.later)].parameters[t.later_index].wire = {};
    }
    return changed_plan("sync::optimal", net_, made, m,
                        [](search::parameter_choice&, shape const&) {});
  }

  search::problem net_;
  search::plan const& start_;
  machine const& machine_;
  wire_list wires_;
  int left_;
  std::optional<search::plan> best_;
};

}  // namespace ashlar::sync::detail
