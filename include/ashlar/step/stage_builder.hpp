// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The implementation of build_stage.hpp, which describes the order of the actions.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/plan/cross_mesh.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/crossing_builder.hpp>
#include <ashlar/step/pipeline/part_order.hpp>
#include <ashlar/step/pipeline_part.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class stage_builder {
  using builder = crossing_builder;

 public:
  stage_builder(search::problem const& net, search::plan const& chosen, machine const& m,
                pipeline_part const& part)
      : net_(net), chosen_(chosen), machine_(m), part_(part), skips_(cut_skips(net, part.limits)),
        to_(net, chosen, m) {}

  program build() {
    for_own_stages([&](int first, int last) { to_.prepare(first, last); });
    begin_ties();
    pipelines::skip_transfers skips;
    for (auto const& it : skips_) skips.push_back({it.from, it.to});
    auto const lines = pipelines::assumed_order(part_.order, skips);
    using pipelines::part_event;
    for (auto const& [event, line] : order_of_part(lines, part_.position, part_.receives_ahead)) {
      switch (event) {
        case part_event::pass: run(line.what); break;
        case part_event::begin_receive: receive(line); break;
        case part_event::end_sends: end_sends(line.target); break;
        case part_event::begin_send: send(line); break;
      }
    }
    for (auto const& sends : sends_) end_sends(sends.first);
    int transfers = 0;
    for (auto const& line : lines) transfers += line.is_transfer;
    synchronize(first_number_ + transfers);
    for_own_stages([&](int first, int last) { to_.update(first, last); });
    for_own_stages([&](int first, int last) { to_.renew(first, last); });
    return to_.finished();
  }

 private:
  static constexpr int none = -1;  // lowered_line::skip of a transfer that belongs to no skip
  /// The receive of a tied parameter (problem.hpp) or of its gradient: `index` is the index of the
  /// receive in program::crossings, and `at` is the placement at which the tensor arrives.
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
      // Skips come from stages further away, which mostly send earlier than the neighbouring stage.
      // So this part waits for the receives of skips first.
      for (int k = 0; k < static_cast<int>(skips_.size()); ++k) arrive(stage, forward, a, k);
      arrive(stage, forward, a, none);
    }
    if (forward) return to_.run_forward(a.micro_batch, first, last);
    to_.run_backward(a.micro_batch, first, last,
                     a.what == pipelines::pass::backward         ? gradients::all
                     : a.what == pipelines::pass::input_gradient ? gradients::inputs
                                                                 : gradients::weights);
  }

  /// Ends the receive of a tensor that pass `a` reads, if there is such a receive: the tensor of
  /// skip k, or the tensor of the neighbouring stage if k is `none`.
  void arrive(int stage, bool forward, pipelines::action const& a, int k) {
    auto const arriving = receives_.find({stage, forward, a.micro_batch, k});
    if (arriving == receives_.end()) return;
    to_.end_crossing(arriving->second);
    receives_.erase(arriving);
    if (k == none) return;
    auto const& skip = skip_of(k);
    to_.bring(a.micro_batch, skip, forward, to_.crossing_plan(plan_of(skip, forward)).after.from);
  }

  void send(pipelines::lowered_line const& line) {
    bool const forward = line.what.what == pipelines::pass::forward;
    int const stage = part_.order.stage_of(line.position, line.what.chunk);
    int const element = forward ? part_.last_of(stage) - 1 : part_.first_of(stage);
    int const plan = line.skip == none ? plan_of(forward ? stage : stage - 1, forward)
                                       : plan_of(skip_of(line.skip), forward);
    int const b = line.what.micro_batch, number = first_number_ + line.number;
    auto const& to = to_.crossing_plan(plan).before.to;
    sends_[line.target].push_back(
        line.skip == none ? to_.begin_send(b, element, forward, to, number, plan)
                          : to_.begin_send(b, skip_of(line.skip), forward, to, number, plan));
  }
  /// Ends all sends to the part at position `target` that are under way.
  void end_sends(int target) {
    auto& begun = sends_[target];
    for (int const index : begun) to_.end_crossing(index);
    begun.clear();
  }

  // A tied parameter crosses to the part of its later use at the start of a step, when that part
  // has nothing to do yet. The gradient of the later use crosses back at the end of the step. In
  // the common order, the crossings of tied parameters come first, and the crossings of their
  // gradients come last.

  int position_of(int element) const { return part_.position_of_element(element); }
  bool is_apart(tie const& t) const { return position_of(t.first) != position_of(t.later); }

  /// Returns the index, in program::crossing_plans, of the plan for a tied parameter (phase
  /// forward) or for the gradient of its later use (phase synchronize).
  int plan_of(tie const& t, phase when) {
    auto const& first = part_.parts[static_cast<std::size_t>(position_of(t.first))];
    auto const& later = part_.parts[static_cast<std::size_t>(position_of(t.later))];
    bool const value = when == phase::forward;
    auto const& own = chosen_[t.first].parameters[t.first_index];
    auto const at = crosses_at(value ? own.store : own.updated_at());
    return to_.add_crossing_plan(plan_cross_mesh(
        net_.spec(t.first).parameters[t.first_index].extents,
        search::step::element_size(net_, moved::parameter, when), value ? first : later, at,
        value ? later : first, at, part_.whole, machine_));
  }

  void begin_ties() {
    for (auto const& t : net_.ties) {
      if (!is_apart(t)) continue;
      int const number = first_number_++;
      if (position_of(t.first) == part_.position) {
        int const plan = plan_of(t, phase::forward), target = position_of(t.later);
        end_sends(target);
        sends_[target].push_back(
            to_.begin_tie_send(t, phase::forward, to_.crossing_plan(plan).before.to, number, plan));
      }
      if (position_of(t.later) == part_.position)
        tied_.push_back(begin_receive(t, phase::forward, number));
    }
  }
  /// Ends the receives of the tied parameters that the elements first .. last - 1 read.
  void end_ties(int first, int last) {
    for (auto& arriving : tied_) {
      if (arriving.index < 0 || arriving.of.later < first || arriving.of.later >= last) continue;
      to_.end_tie_receive(arriving.of, phase::forward, arriving.at, arriving.index);
      arriving.index = -1;
    }
  }
  /// Adds the actions between the last pass and the updates: they synchronize gradients and move
  /// the gradients of tied parameters to other parts. `number` is the number, in the common order,
  /// of the first crossing of such a gradient.
  void synchronize(int number) {
    std::vector<tied> receives;
    std::vector<int> sends;
    // A device (receives_ahead is false) begins all crossings in their common order. So on a device
    // each of these receives begins after the sends that precede it in this order.
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
        receives.push_back(begin_receive(t, phase::synchronize, number));
      }
      ++number;
    }
    for (int const index : sends) to_.end_crossing(index);
    for (auto const& r : receives) to_.end_tie_receive(r.of, phase::synchronize, r.at, r.index);
  }
  /// Begins the receive of a tied parameter, or of the gradient of its later use.
  tied begin_receive(tie const& t, phase when, int number) {
    int const plan = plan_of(t, when);
    auto const at = to_.crossing_plan(plan).after.from;
    return {t, at, to_.begin_tie_receive(t, when, at, number, plan)};
  }
  void begin_receives(int number, std::vector<tied>& receives) {
    for (auto const& t : net_.ties) {
      if (!is_apart(t)) continue;
      if (position_of(t.first) == part_.position)
        receives.push_back(begin_receive(t, phase::synchronize, number));
      ++number;
    }
  }

  void receive(pipelines::lowered_line const& line) {
    bool const forward = line.what.what == pipelines::pass::forward;
    int const b = line.what.micro_batch, number = first_number_ + line.number;
    if (line.skip != none) {
      auto const& skip = skip_of(line.skip);
      int const plan = plan_of(skip, forward);
      receives_[{forward ? skip.to : skip.from, forward, b, line.skip}] = to_.begin_receive(
          b, skip, forward, to_.crossing_plan(plan).after.from, number, plan);
      return;
    }
    int const sender = part_.order.stage_of(line.position, line.what.chunk);
    int const stage = forward ? sender + 1 : sender - 1;
    int const plan = plan_of(forward ? sender : stage, forward);
    int const element = forward ? part_.first_of(stage) : part_.last_of(stage) - 1;
    receives_[{stage, forward, b, none}] = to_.begin_receive(
        b, element, forward, to_.crossing_plan(plan).after.from, number, plan);
  }

  cut_skip const& skip_of(int k) const { return skips_[static_cast<std::size_t>(k)]; }

  /// Returns the index of a plan in program::crossing_plans. If `forward`, this is the plan for the
  /// tensor that goes from stage `stage` to the next stage. Otherwise it is the plan for the
  /// gradient of this tensor, which goes back.
  int plan_of(int stage, bool forward) {
    int const below = part_.last_of(stage) - 1;
    return plan_of({below, below + 1, stage, stage + 1}, boundary_extents(net_, below), forward);
  }
  /// Returns the index of a plan in program::crossing_plans. If `forward`, this is the plan for the
  /// input of a skip. Otherwise it is the plan for the gradient of this input.
  int plan_of(cut_skip const& skip, bool forward) {
    return plan_of(skip, net_.spec(skip.begin).x, forward);
  }
  /// Returns the index of a plan in program::crossing_plans. If `forward`, this is the plan for the
  /// tensor that goes from element `ends.begin` to element `ends.end`. Otherwise it is the plan for
  /// the gradient of this tensor, which goes back.
  int plan_of(cut_skip const& ends, shape const& extents, bool forward) {
    auto const [it, is_new] = plan_at_.try_emplace({ends.begin, ends.end, forward}, 0);
    if (!is_new) return it->second;
    auto const &from = part_.part_of(forward ? ends.from : ends.to),
               &to = part_.part_of(forward ? ends.to : ends.from);
    auto const& placed = forward ? chosen_[ends.begin].y : chosen_[ends.end].dx;
    auto const& wanted = forward ? chosen_[ends.end].x : chosen_[ends.begin].dy;
    return it->second = to_.add_crossing_plan(plan_cross_mesh(
               extents, net_.element_size, from, placed, to, wanted, part_.whole, machine_));
  }

  search::problem const& net_;
  search::plan const& chosen_;
  machine const& machine_;
  pipeline_part const& part_;
  std::vector<cut_skip> skips_;
  builder to_;
  std::vector<tied> tied_;  // receives of tied parameters; index -1: the receive has ended
  int first_number_ = 0;    // number of the first crossing after those of tied parameters
  // Indices of plans in program::crossing_plans, by the two elements and the direction.
  std::map<std::tuple<int, int, bool>, int> plan_at_;
  // Indices, in program::crossings, of the sends that have begun and not ended, by position of the
  // receiver.
  std::map<int, std::vector<int>> sends_;
  // Indices of the receives under way, by stage, direction, micro-batch, and skip or `none`.
  std::map<std::tuple<int, bool, int, int>, int> receives_;
};

}  // namespace step_detail

ASHLAR_INLINE program build_stage(problem const& net, plan const& chosen, machine const& m,
                                  pipeline_part const& part) {
  // The longest program of all parts decides, so that either all ranks throw or none.
  std::vector<int> elements(static_cast<std::size_t>(part.order.positions));
  for (int s = 0; s < part.stages(); ++s)
    elements[static_cast<std::size_t>(part.order.position_of(s))] += part.last_of(s) -
                                                                     part.first_of(s);
  check_program_length(*std::max_element(elements.begin(), elements.end()), net.micro_batches);
  return step_detail::stage_builder(net, chosen, m, part).build();
}

}  // namespace step
}  // namespace ashlar::search
