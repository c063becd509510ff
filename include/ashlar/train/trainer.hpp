// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The trainer, which performs training steps of a model. In each step, an executor runs the program
// of the model up to the first parameter update. Then the trainer itself computes the global
// gradient norm, clips the gradients and updates the parameters. If parameters are stored at other
// placements than those of their updates, the executor then runs the rest of the program, which
// moves the new values to their storage.
//
//   train::trainer t(model, train::adam_w{.lr = 3e-4}, {.clip = 1.0});
//   for (auto const& batch : data) std::cout << t.step(batch) << '\n';
//
// Instead of the whole batch, a rank may pass only the part that it reads (local_batch.hpp).
//
// A step communicates the redistributions of the program, and one all-reduce that sums the loss,
// the squared gradient norm of each parameter and the statistics of mixtures of experts. In a
// pipeline, a second all-reduce adds up the sums of all parts of the mesh. The global norm adds up
// the squared norms in the order of the net's layers. So the sums depend neither on the number of
// stages nor on which rank has which parameter. If the plan delays gradients, the updates, the norm
// and clipping use the gradients of earlier steps (update_numbers.hpp). With mixtures of experts,
// another all-reduce before the passes checks that all ranks have the same batch: ranks with
// different batches would send other rows than are expected.
//
// On a device, the host waits only once per step, to read the loss and the norms. A step does not
// wait for its updates, so their time counts in the seconds of the next step.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include <ashlar/nn/model.hpp>
#include <ashlar/nn/route_book.hpp>
#include <ashlar/support/content_hash.hpp>
#include <ashlar/train/adam_w.hpp>
#include <ashlar/train/batch_data.hpp>
#include <ashlar/train/gradient_squares.hpp>
#include <ashlar/train/local_batch.hpp>
#include <ashlar/train/replayed_step.hpp>
#include <ashlar/train/sent_gradient.hpp>
#include <ashlar/train/sgd.hpp>
#include <ashlar/train/stale_training.hpp>
#include <ashlar/train/step_clock.hpp>
#include <ashlar/train/step_faults.hpp>
#include <ashlar/train/step_programs.hpp>
#include <ashlar/train/step_report.hpp>
#include <ashlar/train/step_totals.hpp>
#include <ashlar/train/trainer_options.hpp>
#include <ashlar/train/update_numbers.hpp>
#include <ashlar/train/wire_arrays.hpp>

namespace ashlar::train {

/// Runs training steps of one model. Shares the model's state, so the object that is passed to the
/// constructor may be moved or destroyed before the trainer.
template <class Model, class Optimizer>
class trainer {
  using stored_type = accumulation_t<typename Model::value_type>;
  using state = typename Optimizer::template state<stored_type>;
  using own_batch = batch_data<typename Model::input_type, typename Model::target_type>;
  using own_local_batch = local_batch<typename Model::input_type, typename Model::target_type>;

 public:
  /// Throws ashlar::error if an option of the optimizer or the trainer has an invalid value, or if
  /// the model's plan does not permit the optimizer or an option.
  trainer(Model& model, Optimizer const& optimizer, trainer_options options = {});
  trainer(trainer&&) = default;
  trainer& operator=(trainer&&) = delete;
  ~trainer();

  /// Performs one step. Throws ashlar::error on every rank, before any parameter changes, if the
  /// data of any rank have wrong sizes or an id or target out of range, or differ between ranks, or
  /// if the loss or the gradient norm is not finite. In the checked mode of the mesh, also throws
  /// if ranks that hold the same part of a parameter have different values after the step. A step
  /// that throws may have changed the errors that wires with feedback keep.
  step_report step(own_batch const& data);

  /// Does not compile: the net takes inputs or targets of other types.
  template <class Input, class Target>
  step_report step(batch_data<Input, Target> const&) {
    static_assert(
        std::same_as<batch_data<Input, Target>, own_batch>,
        "trainer::step: the batch has other types of inputs or targets than the net. Give "
        "batch_data<Model::input_type, Model::target_type>: token and category ids, and "
        "targets that are classes, are std::int32_t; other inputs are of the net's type, "
        "and targets that are numbers are of accumulation_t of it, as in "
        "batch_data<float, float>.");
    return {};
  }

  /// Performs one step, like the overload for the whole batch and with the same results bit for
  /// bit. Each rank passes the part of the batch that part() describes. All ranks must call this
  /// overload. Throws ashlar::error on every rank, before any parameter changes, if a rank's part
  /// has the wrong size or an id or target out of range. If the net has mixtures of experts or the
  /// mesh is in the checked mode, synchronous steps also throw if ranks with the same boxes pass
  /// different values.
  template <std::same_as<own_local_batch> Local>
  step_report step(Local const& local) {
    return step_of_part(local);
  }
  /// Returns the part of each micro-batch that this rank reads. The boxes are empty on ranks of a
  /// pipeline whose stages do not read the data.
  nn::batch_part const& part() const { return part_; }

  std::int64_t steps_done() const { return step_; }
  /// Calls f(name, type, value, shard) for each array that a checkpoint must contain: the values of
  /// the parameters and the arrays of the optimizer. The order is the same on all ranks.
  ///
  ///   name    unique, and independent of the mesh and the plan
  ///   value   the tensor whose extents and placement the array has
  ///   shard   this rank's part of the array
  template <class F>
  void for_each_array(F f) {
    if (stale_) stale_->require_settled();
    std::size_t index = 0;
    model_->for_each_parameter([&](auto& p) {
      auto const& value = p.value();
      f(p.path(), value.type(), value, value.data());
      state_->for_each_array(index++, p, [&](char const* name, stored_type* shard) {
        f(std::string(name) + '/' + p.path(), value.type(), value, static_cast<void*>(shard));
      });
    });
  }
  /// Calls f(name, rows, shard) for each array that the wires (formats in which gradients are sent)
  /// keep between steps (wire_arrays.hpp). These arrays are zero after continue_after(). Only a
  /// training with the same plan on the same mesh can use them. There are none while steps are
  /// plain (plan::plain_steps).
  template <class F>
  void for_each_wire_array(F f) {
    if (!search::is_plain_step(model_->plan(), std::max<std::int64_t>(step_ - 1, 0)))
      train::for_each_wire_array(*model_, programs_.walker().wire_errors(), f);
  }
  /// Returns the delayed gradients, which are zero after continue_after(). Only a training with the
  /// same plan on the same mesh can use them.
  auto& delayed() { return programs_.walker().delayed(); }
  /// Returns the first step whose gradient an update may take, if gradients are delayed.
  std::int64_t first_gradient() const { return numbers_.first(); }
  /// Call this if other code than step() has written the delayed gradients after continue_after().
  /// `first` is the first_gradient() of the training that made these gradients.
  void continue_delayed(std::int64_t first) { numbers_.set_first(first); }
  /// Returns a text for continue_squares(): how many squared gradients AdamW has averaged for each
  /// parameter. Parameters whose updates have all squared a gradient are left out. Call
  /// continue_squares() after continue_after().
  std::string numbers_of_squares() const {
    return stale_ ? stale_->numbers_of_squares() : sent_.text(*model_);
  }
  void continue_squares(std::string const& text) {
    if (stale_) stale_->continue_squares(text);
    else sent_.continue_after(*model_, text);
  }
  /// Sets the number of steps done to `steps`. Call this function on all ranks after code other
  /// than step() has written the arrays, as when a checkpoint is read. Delays begin anew.
  /// Communicates: a redistribution of each parameter that is updated at one placement and stored
  /// at another, unless steps begin with these redistributions.
  void continue_after(std::int64_t steps);
  /// If parameters are stale (stale_training.hpp), makes the parameters of all ranks equal. All
  /// ranks must call it before a checkpoint or an evaluation. They must also call it before they
  /// make another mesh or transfer on one.
  void settle() {
    if (stale_) stale_->settle();
  }
  /// Returns the stale training that runs the steps, or null if they are synchronous.
  auto const* stale() const { return stale_.get(); }
  Model const& model() const { return *model_; }
  /// Returns the program of the last step, or of step 0 if none was made yet. Its transfers overlap
  /// with computations as trainer_options::overlap says.
  step::program const& program() const { return programs_.program(); }
  /// Returns when each action of the last step began and ended; empty without record_times, and
  /// before the first step.
  std::vector<step::time_span> const& times() const { return programs_.walker().times(); }

 private:
  step_report step_of_part(own_local_batch const& local);
  /// Performs one step on data that were checked. The loss is the mean over `in_mean` targets of
  /// all micro-batches on all ranks. hash_of() returns the same number on all ranks if their data
  /// belong to the same batch. `fault` says what is wrong with this rank's data, or is empty. After
  /// a fault, `data` are zeros, with which the rank takes part in the step. All ranks learn of the
  /// fault from a sum of the step (batch_hash).
  template <class Hash>
  step_report run(own_batch const& data, std::int64_t in_mean, std::string const& fault,
                  Hash const& hash_of) {
    if (stale_) {
      auto report = stale_->step(programs_.walker(), data, in_mean, fault, step_);
      report.unit = options_.unit;
      report.model_flops_utilization = options_.utilization(report.seconds, model_->mesh().ranks());
      return report;
    }
    step_clock const clock(*model_);
    double const targets = static_cast<double>(std::max<std::int64_t>(in_mean, 1));
    auto const& mesh = model_->mesh();
    if (mesh.ranks() == 1 && !fault.empty()) throw error("trainer", fault);
    programs_.take(step_);
    auto const& on = mesh.processor();
    [[maybe_unused]] auto const step_scope = range(on, ("step " + std::to_string(step_)).c_str());
    mesh.note_step(step_);
    std::int64_t const first = step_ * model_->micro_batches();
    if (options_.graph) {
      graph_.set(*model_, data.inputs, data.targets);
      graph_.run(mesh,
                 [&] { make_gradients(model_->input_of(graph_.places(), first, totals_.loss())); });
    } else {
      auto input = model_->input_of(data.inputs, data.targets, first, totals_.loss());
      input.scale = 1.0 / targets;
      make_gradients(input);
    }
    auto const sums = totals_.add_up(step_, detail::batch_hash(mesh, fault, hash_of), fault,
                                     clock.seconds() - programs_.walker().seconds_waited());
    double const summed = clock.seconds();
    if (in_mean == 0) detail::refuse_no_targets(step_);  // add_up has compared the batches
    if (sums.mixtures.faults > 0) detail::refuse_router(*model_, step_);
    step_report report;
    report.step = step_;
    report.loss = sums.loss / targets;
    report.gradient_norm = std::sqrt(sums.squares);
    if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
      if (std::isfinite(report.loss)) numbers_.forget(programs_.walker().delayed(), step_);
      detail::refuse_not_finite(*model_, step_, report.loss, report.gradient_norm);
    }
    report.set_mixtures(sums.mixtures);
    report.learning_rate_factor = options_.schedule(step_);
    detail::require_finite_factor(step_, report.learning_rate_factor);
    update_scale scale{report.learning_rate_factor, 1.0};
    if (report.gradient_norm > options_.clip) scale.clip = options_.clip / report.gradient_norm;
    [[maybe_unused]] auto const scope = range(on, "update");
    std::size_t index = 0;
    model_->for_each_parameter([&](auto& p) {
      auto const number = numbers_.number(index++, step_);
      if (number == 0) return;
      sent_.note(*model_, p, index - 1, number, step_, scale);
      state_->update(index - 1, number, p, scale);
    });
    ++step_;
    sent_.accept();
    programs_.walker().delayed().advance();
    renew();
    if (mesh.is_checked()) detail::compare_replicas(*model_, step_ - 1);

    clock.write_to(report, static_cast<double>(data.targets.size()));
    if (!(model_->stage_mesh() == mesh) && report.measures_communication)
      report.bubble = std::max(0.0, summed - sums.busy / mesh.ranks()) / report.seconds;
    report.predicted_bubble = options_.bubble;
    report.unit = options_.unit;
    report.model_flops_utilization = options_.utilization(report.seconds, mesh.ranks());
    return report;
  }

  /// Moves updated parameters to where they are stored, now or when they are read next.
  void renew() {
    if (program().renews_first) model_->renew_before_use();
    else programs_.walker().renew();
  }

  /// Computes the gradients of a step. Stores in totals_ this rank's part of the summed loss and of
  /// each parameter's squared gradient norm.
  void make_gradients(nn::step_input<typename Model::mesh_type::processor_type> const& input) {
    auto const& mesh = model_->mesh();
    auto const& on = mesh.processor();
    auto& walker = programs_.walker();
    sent_.begin(*model_, step_);
    // A step of another trainer or program may have left the renewal of parameters to this step.
    if (!program().renews_first) model_->renew_if_due();
    model_->clear_gradients();
    totals_.clear();
    {
      nn::step_of_mixtures const noted(model_->mixtures());
      walker.run(0, walker.first_update(), input);
    }
    walker.hand_out_gradients();
    [[maybe_unused]] auto const scope = range(on, "norm");
    double* squares = totals_.squares();
    model_->for_each_parameter(
        [&](auto& p) { detail::add_squares<stored_type>(p, mesh.memory(), squares++); });
  }

  std::unique_ptr<Model> model_;  // its address, and that of the state, do not change when the
  std::unique_ptr<state> state_;  // trainer is moved
  trainer_options options_;
  step_programs<Model> programs_;
  update_numbers numbers_;
  sent_gradients sent_;
  nn::batch_part part_;  // the part of each micro-batch that this rank reads
  detail::whole_room<Model> room_;
  bool has_mixtures_;
  detail::step_totals<Model> totals_;
  replayed_step<Model> graph_;
  std::int64_t step_ = 0;
  std::unique_ptr<stale_training<Model, Optimizer>> stale_;  // null if steps are synchronous
};

template <class Model, class Optimizer>
trainer<Model, Optimizer>::trainer(Model& model, Optimizer const& optimizer,
                                   trainer_options options)
    : model_(std::make_unique<Model>(model.share())), state_(std::make_unique<state>(optimizer)),
      options_(std::move(options)),
      programs_(*model_, search::is_stale(model.plan()) ? overlap::none : options_.overlap,
                options_.record_times, detail::wire_momentum(model, optimizer)),
      numbers_(programs_.program(), programs_.walker().delayed()),
      part_(nn::part_of_batch(programs_.program(), model.problem(), model.plan(),
                              model.input_extents(), model.target_extents(),
                              model.stage_mesh().coordinate())),
      has_mixtures_(search::has_experts(model.problem())), totals_(*model_, has_mixtures_) {
  if constexpr (requires { optimizer.check(); }) optimizer.check();
  detail::require_row_updates(model, optimizer);
  options_.check();
  if (options_.graph) replayed_step<Model>::check(model);
  stale_ = stale_training<Model, Optimizer>::begin(*model_, *state_, options_, part_);
}

template <class Model, class Optimizer>
trainer<Model, Optimizer>::~trainer() = default;

template <class Model, class Optimizer>
step_report trainer<Model, Optimizer>::step(own_batch const& data) {
  auto const fault = detail::batch_fault(*model_, data);
  auto const hash_of = [&] {
    return content_hash(std::span(data.targets), content_hash(std::span(data.inputs)));
  };
  if (has_mixtures_ && !stale_) detail::compare_batches(*model_, step_, fault, hash_of);
  auto const& used = fault.empty() ? data : room_.zeros(*model_);
  return run(used, model_->targets_in_mean(used.targets), fault, hash_of);
}

template <class Model, class Optimizer>
step_report trainer<Model, Optimizer>::step_of_part(own_local_batch const& local) {
  auto const fault = room_.set(*model_, part_, local);
  auto const hash_of = [] { return std::uint64_t(1); };
  if (!stale_) {  // stale ranks do not wait for others
    if (has_mixtures_) detail::compare_batches(*model_, step_, fault, hash_of);
    if (auto const& mesh = model_->mesh(); mesh.is_checked() || has_mixtures_)
      detail::compare_parts(mesh, part_, local, fault, step_);
  }
  auto const in_mean = detail::targets_in_mean(*model_, part_, local, fault);
  return run(room_.data(), in_mean, fault, hash_of);
}

template <class Model, class Optimizer>
void trainer<Model, Optimizer>::continue_after(std::int64_t steps) {
  if (stale_) stale_->continue_at(steps);
  step_ = steps;
  programs_.take(step_);
  programs_.walker().wire_errors().clear();
  numbers_.forget(programs_.walker().delayed(), steps);
  sent_.clear();
  model_->for_each_parameter([](auto& p) { p.round(); });
  renew();
}

template <class Model, class Optimizer>
trainer(Model&, Optimizer) -> trainer<Model, Optimizer>;
template <class Model, class Optimizer>
trainer(Model&, Optimizer, trainer_options) -> trainer<Model, Optimizer>;

#if !ASHLAR_DEFINES(NN)
#define ASHLAR_COMPILED_TRAINER(...)                                                               \
  extern template class trainer<__VA_ARGS__, adam_w>;                                              \
  extern template class trainer<__VA_ARGS__, sgd>;
ASHLAR_USUAL_MODELS(ASHLAR_COMPILED_TRAINER)
#undef ASHLAR_COMPILED_TRAINER
#endif

}  // namespace ashlar::train
