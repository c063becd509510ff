// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The implementation of build_stage.hpp, which describes the order of the actions.

#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include <ashlar/config.hpp>
#include <ashlar/plan/cross_mesh.hpp>
#include <ashlar/step/crossing_builder.hpp>
#include <ashlar/step/pipeline/lower.hpp>
#include <ashlar/step/pipeline_part.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class stage_builder {
  using builder = crossing_builder;

 public:
  stage_builder(search::problem const& net, search::plan const& chosen, machine const& m,
                pipeline_part const& part)
      : net_(net), chosen_(chosen), machine_(m), part_(part), to_(net, chosen, m) {}

  program build() {
    for_own_stages([&](int first, int last) { to_.prepare(first, last); });
    begin_ties();
    int number = first_number_;
    // Passes count as equally long. The order of the parts' passes is given by the schedule; the
    // costs decide only how the passes of different parts follow each other.
    pipelines::pipeline_costs const costs(static_cast<std::size_t>(part_.stages()),
                                          {1, 1, 1, 0.5, 0.5});
    auto const lines = pipelines::lowered(part_.order, costs);
    for (auto const& line : lines) {
      if (line.is_transfer && line.target == part_.position)
        arriving_[line.position].push_back({line, number});
      number += line.is_transfer;
    }
    if (part_.receives_ahead)
      for (auto& [from, own] : arriving_) receive_next(from);
    number = first_number_;
    for (auto const& line : lines) {
      if (!line.is_transfer && line.position == part_.position) run(line.what);
      if (line.is_transfer && line.position == part_.position) send(line, number);
      if (line.is_transfer && line.target == part_.position) receive_next(line.position);
      number += line.is_transfer;
    }
    for (auto const& [target, index] : sends_) to_.end_crossing(index);
    synchronize(number);
    for_own_stages([&](int first, int last) { to_.update(first, last); });
    return to_.finished();
  }

 private:
  /// The receive of a tied parameter or of its gradient, by index, and the placement of its arrival.
  struct tied {
    tie of;
    placement at;
    int index;
  };

  template <class F>
  void for_own_stages(F f) const {
    for (int s = 0; s < part_.stages(); ++s)
      if (part_.order.position_of(s) == part_.position) f(part_.first_of(s), part_.last_of(s));
  }

  void run(pipelines::action const& a) {
    using gradients = builder::gradients;
    int const stage = part_.order.stage_of(part_.position, a.chunk);
    int const first = part_.first_of(stage), last = part_.last_of(stage);
    bool const forward = a.what == pipelines::pass::forward;
    if (forward) end_ties(first, last);
    if (forward || pipelines::makes_input_gradient(a.what)) {
      auto const arriving = receives_.find({stage, forward, a.micro_batch});
      if (arriving != receives_.end()) {
        to_.end_crossing(arriving->second);
        receives_.erase(arriving);
      }
    }
    if (forward) return to_.run_forward(a.micro_batch, first, last);
    to_.run_backward(a.micro_batch, first, last,
                     a.what == pipelines::pass::backward         ? gradients::all
                     : a.what == pipelines::pass::input_gradient ? gradients::inputs
                                                                 : gradients::weights);
  }

  void send(pipelines::lowered_line const& line, int number) {
    bool const forward = line.what.what == pipelines::pass::forward;
    int const stage = part_.order.stage_of(line.position, line.what.chunk);
    int const plan = plan_of(forward ? stage : stage - 1, forward);
    int const element = forward ? part_.last_of(stage) - 1 : part_.first_of(stage);
    auto const earlier = sends_.find(line.target);
    if (earlier != sends_.end()) to_.end_crossing(earlier->second);
    sends_[line.target] = to_.begin_send(line.what.micro_batch, element, forward,
                                         to_.crossing_plan(plan).before.to, number, plan);
  }

  // A tied parameter crosses to the part of its later use at the begin of a step, when that part
  // has nothing to do yet. The gradient of the later use crosses at the end of a step. In the common
  // order, the former crossings are the first ones and the latter are the last ones.

  int position_of(int element) const {
    int stage = 0;
    while (part_.last_of(stage) <= element) ++stage;
    return part_.order.position_of(stage);
  }
  bool is_apart(tie const& t) const { return position_of(t.first) != position_of(t.later); }

  /// Returns the plan of a tie's crossing: of its parameter, or of the gradient of its later use.
  int plan_of(tie const& t, phase when) {
    auto const& first = part_.parts[static_cast<std::size_t>(position_of(t.first))];
    auto const& later = part_.parts[static_cast<std::size_t>(position_of(t.later))];
    bool const value = when == phase::forward;
    auto const& store = chosen_[t.first].parameters[t.first_index].store;
    return to_.add_crossing_plan(plan_cross_mesh(
        net_.spec(t.first).parameters[t.first_index].extents,
        search::step::element_size(net_, moved::parameter, when), value ? first : later, store,
        value ? later : first, store, part_.whole, machine_));
  }

  void begin_ties() {
    for (auto const& t : net_.ties) {
      if (!is_apart(t)) continue;
      int const number = first_number_++;
      if (position_of(t.first) == part_.position) {
        int const plan = plan_of(t, phase::forward), target = position_of(t.later);
        if (sends_.contains(target)) to_.end_crossing(sends_[target]);
        sends_[target] = to_.begin_tie_send(t, phase::forward, to_.crossing_plan(plan).before.to,
                                            number, plan);
      }
      if (position_of(t.later) == part_.position) {
        int const plan = plan_of(t, phase::forward);
        auto const& at = to_.crossing_plan(plan).after.from;
        tied_.push_back({t, at, to_.begin_tie_receive(t, phase::forward, at, number, plan)});
      }
    }
  }
  /// Ends the receives of the parameters that the elements first .. last - 1 read.
  void end_ties(int first, int last) {
    for (auto& arriving : tied_) {
      if (arriving.index < 0 || arriving.of.later < first || arriving.of.later >= last) continue;
      to_.end_tie_receive(arriving.of, phase::forward, arriving.at, arriving.index);
      arriving.index = -1;
    }
  }
  /// Adds the end of a step before the updates. `number` is that of the next crossing.
  void synchronize(int number) {
    std::vector<tied> receives;
    std::vector<int> sends;
    // Devices begin all crossings in their common order, so they receive behind earlier sends.
    bool const ahead = part_.receives_ahead;
    if (ahead) begin_receives(number, receives);
    for_own_stages([&](int first, int last) { to_.synchronize(first, last); });
    for (auto const& t : net_.ties) {
      if (!is_apart(t)) continue;
      if (position_of(t.later) == part_.position) {
        int const plan = plan_of(t, phase::synchronize);
        sends.push_back(to_.begin_tie_send(t, phase::synchronize, to_.crossing_plan(plan).before.to,
                                           number, plan));
      } else if (!ahead && position_of(t.first) == part_.position) {
        receives.push_back(begin_receive(t, number));
      }
      ++number;
    }
    for (int const index : sends) to_.end_crossing(index);
    for (auto const& r : receives) to_.end_tie_receive(r.of, phase::synchronize, r.at, r.index);
  }
  /// Begins the receive of the gradient of a tie's later use.
  tied begin_receive(tie const& t, int number) {
    int const plan = plan_of(t, phase::synchronize);
    auto const at = to_.crossing_plan(plan).after.from;
    return {t, at, to_.begin_tie_receive(t, phase::synchronize, at, number, plan)};
  }
  void begin_receives(int number, std::vector<tied>& receives) {
    for (auto const& t : net_.ties) {
      if (!is_apart(t)) continue;
      if (position_of(t.first) == part_.position) receives.push_back(begin_receive(t, number));
      ++number;
    }
  }

  /// Begins the next receive from the part at position `from`, if there is one more.
  void receive_next(int from) {
    auto& own = arriving_[from];
    if (own.empty()) return;
    receive(own.front().line, own.front().number);
    own.pop_front();
  }
  void receive(pipelines::lowered_line const& line, int number) {
    bool const forward = line.what.what == pipelines::pass::forward;
    int const sender = part_.order.stage_of(line.position, line.what.chunk);
    int const stage = forward ? sender + 1 : sender - 1;
    int const plan = plan_of(forward ? sender : stage, forward);
    int const element = forward ? part_.first_of(stage) : part_.last_of(stage) - 1;
    receives_[{stage, forward, line.what.micro_batch}] = to_.begin_receive(
        line.what.micro_batch, element, forward, to_.crossing_plan(plan).after.from, number, plan);
  }

  /// Returns the index, in program::crossing_plans, of the plan for the cut behind stage `stage`.
  int plan_of(int stage, bool forward) {
    auto const found = plan_at_.find({stage, forward});
    if (found != plan_at_.end()) return found->second;
    int const below = part_.last_of(stage) - 1, above = below + 1;
    auto const &from = part_.part_of(forward ? stage : stage + 1),
               &to = part_.part_of(forward ? stage + 1 : stage);
    auto const& placed = forward ? chosen_[below].y : chosen_[above].dx;
    auto const& wanted = forward ? chosen_[above].x : chosen_[below].dy;
    auto plan = plan_cross_mesh(boundary_extents(net_, below), net_.element_size, from, placed, to,
                                wanted, part_.whole, machine_);
    return plan_at_[{stage, forward}] = to_.add_crossing_plan(std::move(plan));
  }

  search::problem const& net_;
  search::plan const& chosen_;
  machine const& machine_;
  pipeline_part const& part_;
  builder to_;
  std::vector<tied> tied_;                       // of parameters; index -1: has ended
  int first_number_ = 0;                         // of the crossings behind those of tied parameters
  std::map<std::pair<int, bool>, int> plan_at_;  // by cut and direction
  std::map<int, int> sends_;                     // the last one to each position
  /// A transfer, and its number in the common order.
  struct transfer {
    pipelines::lowered_line line;
    int number;
  };
  std::map<int, std::deque<transfer>> arriving_;        // not yet begun, by position of the sender
  std::map<std::tuple<int, bool, int>, int> receives_;  // by stage, direction and micro-batch
};

}  // namespace step_detail

ASHLAR_INLINE program build_stage(problem const& net, plan const& chosen, machine const& m,
                                  pipeline_part const& part) {
  return step_detail::stage_builder(net, chosen, m, part).build();
}

}  // namespace step
}  // namespace ashlar::search
