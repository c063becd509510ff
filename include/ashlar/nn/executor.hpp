// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs the program of a training step, which is a list of actions (step/program.hpp). Each
// computation belongs to one element of the net: a layer, or one end of a residual, skip or branch.
// Each value of the program, such as an activation, has a slot, which holds the value while the
// value is alive. The executor performs the actions in order:
//
//   forward, recompute,
//   backward, input_gradient,
//   weight_gradient         the element's node computes (nn/node.hpp)
//   begin_move, end_move    a redistribution. If end_move follows begin_move directly, the
//                           redistribution is done at once. Otherwise it proceeds in the
//                           background. On the host, the moves of a bucket form one transfer.
//   begin_send, end_send,
//   begin_receive,
//   end_receive             a crossing between parts of a pipeline's mesh, in the background
//   exchange_halo,
//   add_halo                an exchange of halos, at once
//   release                 empties the slots of values that are no longer needed
//   add_gradient            adds the gradient of a tied parameter's later use (nn/tied.hpp)
//   exchange_rows           adds up rows of a gradient over ranks, at once (row_exchange.hpp)
//   update                  skipped: the trainer's optimizer updates the parameters
//
// On the host, pending transfers proceed between blocks of a computation and between actions. On a
// device, they proceed by themselves. The input of a micro-batch is requested when an action first
// reads it.

#include <algorithm>
#include <utility>

#include <ashlar/comm/operation_label.hpp>
#include <ashlar/config.hpp>
#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/nn/delayed_gradients.hpp>
#include <ashlar/nn/execution.hpp>
#include <ashlar/nn/gradient_sum.hpp>
#include <ashlar/nn/move_names.hpp>
#include <ashlar/nn/parameter_slots.hpp>
#include <ashlar/nn/profile_ranges.hpp>
#include <ashlar/nn/running_crossings.hpp>
#include <ashlar/nn/running_moves.hpp>
#include <ashlar/step/program.hpp>
#include <ashlar/step/time_span.hpp>
#include <ashlar/support/stopwatch.hpp>
#include <ashlar/tensor/halo.hpp>

namespace ashlar::nn {

template <class Processor>
class executor {
  using nodes = std::vector<std::unique_ptr<element_node<Processor>>>;

 public:
  /// The program must have been built for these elements. The program and the elements must outlive
  /// the executor. `activations` is the type in which the net computes.
  executor(basic_mesh<Processor> const& m, nodes const& elements, step::program const& p,
           element_type activations);

  /// Returns the index of the first action that reduces gradients of parameters over the ranks.
  /// Returns the number of actions if there is none.
  int first_synchronization() const {
    return first_of([](auto const& a) { return a.phase == step::phase::synchronize; });
  }
  /// Returns the errors of wires with feedback. Each run of the program reads and updates them.
  errors_of_moves& wire_errors() { return moves_.errors(); }
  /// Returns the delayed gradients. Each run of the program reads them.
  delayed_gradients<Processor>& delayed() { return delayed_; }
  /// Returns the index of the first update, or the number of actions if there is none.
  int first_update() const {
    return first_of([](auto const& a) { return a.kind == step::action_kind::update; });
  }

  /// Makes later runs record when each action starts and ends, in seconds since the run's start.
  void record_times() { records_times_ = true; }
  std::vector<step::time_span> const& times() const { return times_; }
  /// Returns how many seconds the last run waited for sends to and receives from other parts of a
  /// pipeline's mesh.
  double seconds_waited() const { return waited_; }

  /// Performs the actions first .. last-1. Communicates: the redistributions among these actions.
  void run(int first, int last, step_input<Processor> const& input);

  /// Some parameters are updated at one placement and stored at another. Moves their new values to
  /// where they are stored. Must be called after the updates of a step, and counts as a part of the
  /// last run. Does nothing if steps begin with these moves (program::renews_first). Communicates:
  /// redistributions.
  void renew();

  /// Runs the forward passes of elements 0 .. end-1 on micro-batch 0. Keeps no values for a
  /// backward pass. Returns the output of element end-1, at the placement at which this element
  /// made it.
  any_tensor<Processor> forward(int end, step_input<Processor> const& input);

  /// Gives every parameter its gradient, which the optimizer reads. Must be called after the
  /// actions that reduce the gradients over the ranks.
  void hand_out_gradients();

 private:
  void perform(int first, int last, step_input<Processor> const& input) {
    cleaner const guard{*this};
    parameters_.take(on_);
    delayed_.take(on_);
    on_.saves = true;
    for (int i = first; i < last; ++i) i += do_timed(i, input);
    drop_context();
    parameters_.drop(on_);
    ranges_.leave_pass();
  }

  /// Empties the slots if an exception ends a run. Stack unwinding then destroys pending transfers,
  /// and their destructors do not wait. Instead they abandon the mesh: later transfers on the mesh
  /// throw (tensor/running_plan.hpp).
  struct cleaner {
    executor& of;
    exception_watch watch{};
    ~cleaner() {
      if (watch.is_passing()) of.forget();
    }
  };

  parameter<Processor>& parameter_at(int element, int k) const {
    return parameter_of(*elements_, element, k);
  }

  template <class Condition>
  int first_of(Condition condition) const {
    auto const& all = program_->actions;
    return static_cast<int>(std::find_if(all.begin(), all.end(), condition) - all.begin());
  }

  int do_timed(int i, step_input<Processor> const& input) {
    if (times_.empty()) return do_action(i, input);
    double const start = begun_.seconds();
    int const more = do_action(i, input);
    std::fill_n(times_.begin() + i, more + 1, step::time_span{start, begun_.seconds()});
    return more;
  }

  /// Performs action i. A begin_move also performs some of the actions after it: its end_move if
  /// the end_move follows directly, or the other actions of its bucket. Returns the number of these
  /// additional actions.
  int do_action(int i, step_input<Processor> const& input) {
    auto const& a = program_->actions[static_cast<std::size_t>(i)];
    switch (a.kind) {
      case step::action_kind::begin_move:
        load(a, input);
        return moves_.begin(mesh_, i, on_, parameters_);
      case step::action_kind::end_move: moves_.end(mesh_, a, on_, parameters_); break;
      case step::action_kind::begin_send:
        load(a, input);
        begin_crossing(a);
        break;
      case step::action_kind::begin_receive: begin_crossing(a); break;
      case step::action_kind::end_send:
      case step::action_kind::end_receive: end_crossing(a); break;
      case step::action_kind::exchange_halo:
      case step::action_kind::add_halo: exchange_halo(a, input); break;
      case step::action_kind::release: on_.release(a); break;
      case step::action_kind::update: break;
      case step::action_kind::add_gradient: add(a); break;
      case step::action_kind::exchange_rows: exchange_rows(a); break;
      default: compute(a, input);
    }
    if constexpr (Processor::is_host) mesh_.progress();
    return 0;
  }

  void begin_crossing(step::action const& a) {
    auto const& c = program_->crossing_of(a);
    auto const& value = program_->value_of(c.value);
    auto const type = value.kind == step::value_kind::addend
                          ? parameters_.parameter_of(value).sum().type()
                          : activations_;
    crossings_.begin(mesh_, a, c.is_send ? &on_.tensor(c.value) : nullptr, type);
  }
  void end_crossing(step::action const& a) {
    auto const& c = program_->crossing_of(a);
    auto tensor = crossings_.end(mesh_, a, waited_);
    if (!c.is_send) on_.set(c.value, std::move(tensor));
  }

  void exchange_halo(step::action const& a, step_input<Processor> const& input) {
    load(a, input);
    bool const back = a.kind == step::action_kind::add_halo;
    auto const& halo = halos_[static_cast<std::size_t>(a.halo)];
    auto const number = static_cast<std::size_t>(&a - program_->actions.data());
    operation_label const named(mesh_, halo_names_[number].c_str());
    auto const& from = on_.tensor(a.reads[0]);
    on_.set(a.makes[0], back ? ashlar::detail::sum_of_halos(from, halo)
                             : ashlar::detail::with_halo(from, halo));
  }
  void exchange_rows(step::action const& a) {
    auto const& p = parameter_at(a.element, a.part);
    auto const name = "gradient of " + p.path();
    operation_label const named(mesh_, name.c_str());
    if constexpr (Processor::is_host) p.rows()->exchange(mesh_);
  }
  /// Adds the gradient of a tied parameter's later use to the gradient of its first use.
  void add(step::action const& a) {
    int const added = a.reads[0], to = a.adds[0];
    add_gradient(on_.tensor(added), on_.tensor(to));
    if (program_->value_of(to).kind == step::value_kind::pending)
      delayed_.forget_added(program_->value_of(added));
  }

  void compute(step::action const& a, step_input<Processor> const& input) {
    load(a, input);
    auto const b = a.micro_batch;
    on_.pass = input.pass(b);
    on_.pass.element = a.element;
    on_.pass.is_recomputed = a.kind == step::action_kind::recompute;
    on_.batch.scale = input.scale;
    on_.batch.total = input.total;
    bool const forward = a.kind == step::action_kind::forward ||
                         a.kind == step::action_kind::recompute;
    if (forward && a.element + 1 == program_->elements && std::exchange(targets_of_, b) != b)
      on_.batch.targets = input.targets(b);
    if (forward && elements_->at(static_cast<std::size_t>(a.element))->reads_context() &&
        std::exchange(context_of_, b) != b)
      on_.context = input.context(b);
    auto const go_on = [this] { mesh_.progress(); };
    device::host::listening const transfers(go_on);
    [[maybe_unused]] auto const scope = ranges_.of(a);
    (*elements_)[static_cast<std::size_t>(a.element)]->compute(a, on_);
  }

  /// Requests the input of the action's micro-batch and stores it in its slot. Does nothing if the
  /// action does not read the input, or if the slot already contains the input.
  void load(step::action const& a, step_input<Processor> const& input) {
    for (int const v : a.reads)
      if (program_->value_of(v).kind == step::value_kind::data && on_.tensor(v).empty())
        on_.set(v, input.data(a.micro_batch));
  }

  void drop_context() {
    on_.context = {};
    context_of_ = targets_of_ = -1;
  }

  /// Ends a run: empties all slots, except the slots of gradient sums (pending ones included) and
  /// of parameters that no redistribution renews.
  void forget() {
    moves_.forget();
    crossings_.forget();
    ranges_.leave_pass();
    on_.batch.targets = {};
    drop_context();
    for (std::size_t v = 0; v < on_.values.size(); ++v)
      if (!program_->values[v].lasts()) on_.values[v] = {};
    parameters_.drop(on_);
  }

  basic_mesh<Processor> mesh_;
  element_type activations_;
  nodes const* elements_;
  step::program const* program_;
  execution<Processor> on_;
  int context_of_ = -1, targets_of_ = -1;  // the micro-batch whose data are in on_, or -1
  profile_ranges<Processor> ranges_;
  std::vector<std::string> halo_names_;  // one per action: the name of its halo exchange
  parameter_slots<Processor> parameters_;
  delayed_gradients<Processor> delayed_;
  running_moves<Processor> moves_;
  running_crossings<Processor> crossings_;
  std::vector<halo_transfers> halos_;  // in the order of program::halos
  bool records_times_ = false;
  std::vector<step::time_span> times_;  // empty before the first recorded run
  stopwatch begun_;
  double waited_ = 0;
};

template <class Processor>
executor<Processor>::executor(basic_mesh<Processor> const& m, nodes const& elements,
                              step::program const& p, element_type activations)
    : mesh_(m), activations_(activations), elements_(&elements), program_(&p),
      ranges_(m, elements, p), halo_names_(halo_names(elements, p)), parameters_(elements, p),
      delayed_(elements, p), moves_(elements, p), crossings_(m, p) {
  for (auto const& halo : p.halos)
    halos_.push_back(prepared_for(halo, m.topology(), m.coordinate()));
  on_.values.resize(p.values.size());
  parameters_.fill(on_);
}

template <class Processor>
void executor<Processor>::run(int first, int last, step_input<Processor> const& input) {
  if (records_times_) times_.resize(program_->actions.size());
  begun_ = {};
  waited_ = 0;
  perform(first, last, input);
}

template <class Processor>
void executor<Processor>::renew() {
  if (program_->renews_first) return;
  int const first = first_of([](auto const& a) { return a.phase == step::phase::renew; });
  int const last = static_cast<int>(program_->actions.size());
  if (first < last) perform(first, last, {});
}

template <class Processor>
any_tensor<Processor> executor<Processor>::forward(int end, step_input<Processor> const& input) {
  cleaner const guard{*this};
  parameters_.take(on_);
  on_.saves = false;
  any_tensor<Processor> last;
  auto const& actions = program_->actions;
  for (int i = 0; i < static_cast<int>(actions.size()); ++i) {
    auto const& a = actions[static_cast<std::size_t>(i)];
    // Only the forward passes run here. A program begins receives of gradients early, among
    // forward passes (step/build_stage.hpp), so crossings of other phases are skipped. Receives
    // of activations happen even if no element below `end` reads them, because another rank sends
    // them.
    if (a.crossing >= 0 && a.phase != step::phase::forward) continue;
    if (a.crossing < 0 && (a.phase != step::phase::forward || a.element >= end)) break;
    i += do_action(i, input);
    if (a.kind == step::action_kind::forward) last = on_.tensor(a.makes[0]);
  }
  crossings_.wait_for_all(mesh_);
  forget();
  return last;
}

template <class Processor>
void executor<Processor>::hand_out_gradients() {
  for (auto const& a : program_->actions) {
    if (a.kind != step::action_kind::update) continue;
    if (parameter_at(a.element, a.part).rows() != nullptr) continue;  // exchange_rows made it
    auto const& made = program_->value_of(a.reads[0]);
    parameter_at(a.element, a.part)
        .set_gradient(delayed_.due(a.element, a.part, on_.tensor(a.reads[0])));
    if (made.kind == step::value_kind::gradient) on_.set(a.reads[0], {});
  }
}

#if !ASHLAR_DEFINES(NN)
extern template class executor<device::host::processor>;
#endif

}  // namespace ashlar::nn
