// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The steps of a training with stale parameters (step/staleness.hpp), which the trainer runs. Each
// rank reads copies of all parameters, and owns some of them:
//
//   a step of a rank      takes the values that it asked for in its last step; waits for them if
//                         the owners have not answered yet
//                         runs the passes on its part of the batch
//                         pushes the gradients to the owners, and asks for the next values
//   meanwhile             updates the parameters that it owns, and answers reads of other ranks
//   settle()              all ranks wait until the values contain all gradients
//
// With a staleness of 0, an update takes the sum of all ranks' gradients: the bits are those of
// synchronous training with sum_order::by_rank. Otherwise an update takes the gradient of one rank,
// times the number p of ranks, at 1/p of the learning rate. So the updates of p ranks move a
// parameter about as far as one update of their mean gradient. For the optimizer they are p
// separate updates: moments decay p times in a step.
//
// The passes use the program of a synchronous step up to its first synchronization. No rank knows
// the loss or the norm of the gradient over all ranks, so there is no clipping.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/comm/long_work.hpp>
#include <ashlar/comm/mpi/mailbox.hpp>
#include <ashlar/comm/stale_exchange.hpp>
#include <ashlar/nn/batch_part.hpp>
#include <ashlar/nn/model.hpp>
#include <ashlar/nn/route_book.hpp>
#include <ashlar/support/exception_watch.hpp>
#include <ashlar/train/batch_data.hpp>
#include <ashlar/train/optimizer.hpp>
#include <ashlar/train/sent_gradient.hpp>
#include <ashlar/train/step_clock.hpp>
#include <ashlar/train/step_faults.hpp>
#include <ashlar/train/step_report.hpp>
#include <ashlar/train/trainer_options.hpp>

namespace ashlar::train {

template <class Model, class Optimizer>
class stale_training {
  using T = accumulation_t<typename Model::value_type>;
  using processor = typename Model::mesh_type::processor_type;
  using parameter = nn::parameter<processor>;
  using tensor = typename parameter::tensor_type;
  using state = typename Optimizer::template state<T>;
  using executor = nn::executor<processor>;

 public:
  /// Returns a stale training of the model, or null if its plan is synchronous. `optimizer` is the
  /// state that updates use; it and the model must outlive the result. `part` is what this rank
  /// reads of a micro-batch. Collective over the mesh. Throws ashlar::error if the net or the
  /// options need what only synchronous steps have.
  static std::unique_ptr<stale_training> begin(Model& model, state& optimizer,
                                               trainer_options const& options,
                                               nn::batch_part const& part) {
    if (!search::is_stale(model.plan())) return nullptr;
    if (std::isfinite(options.clip))
      throw error("trainer",
                  "clip needs the norm of all gradients of a step, but parameters of the plan are "
                  "stale, so no rank knows it. Leave out clip, or give a plan without staleness.");
    if (search::has_experts(model.problem()) || model.leaves_out_targets())
      throw error("trainer",
                  "mixtures of experts, and losses that leave out targets, need sums over all "
                  "ranks in each step, but parameters of the plan are stale. Give a plan without "
                  "staleness.");
    if constexpr (processor::is_host)
      return std::unique_ptr<stale_training>(new stale_training(model, optimizer, options, part));
    else return nullptr;  // nn::place refuses such plans on devices
  }
  stale_training(stale_training const&) = delete;
  stale_training& operator=(stale_training const&) = delete;
  /// Settles, since other ranks may wait for this owner. Expects that all ranks have done the same
  /// number of steps.
  ~stale_training() {
    auto& operations = model_->mesh().operations();
    if (is_settled_ || watch_.is_passing() || operations.is_abandoned()) return;
    try {
      settle();
    } catch (...) {
      operations.abandon();  // so the mailbox keeps its buffers, which MPI may still use
    }
  }

  /// Performs step number `step` of this rank, and then adds 1 to `step`. The other arguments are
  /// those of trainer::run. Throws ashlar::error, on this rank only, if its data are wrong, or its
  /// loss or gradient is not finite. In this case the rank has sent nothing, and can repeat the
  /// step.
  step_report step(executor& walker,
                   batch_data<typename Model::input_type, typename Model::target_type> const& data,
                   std::int64_t in_mean, std::string const& fault, std::int64_t& step) {
    step_clock const clock(*model_);
    long_work const noted(model_->mesh(), "makes a step of a stale training");
    if (!fault.empty()) throw error("trainer", fault);
    auto const& mesh = model_->mesh();
    mesh.note_step(step);
    take_values();
    double total = 0;
    auto input = model_->input_of(data.inputs, data.targets, step * model_->micro_batches(),
                                  total_.data());
    input.scale = 1.0 / static_cast<double>(in_mean);
    fill(mesh.processor(), 0.0, total_.size(), total_.data());
    model_->clear_gradients();
    walker.run(0, walker.first_synchronization(), input);
    double* const squares = total_.data() + 1;
    for_each_owned([&](owned_parameter const& o) {
      if (o.uses.size() > 1) return add_squares_of_uses(o, *squares);
      add_sum_of_squares(mesh.processor(), mesh.memory(),
                         static_cast<T const*>(o.uses.front()->sum().template data_as<T>()),
                         o.elements, squares);
    });
    download(mesh.processor(), static_cast<double const*>(total_.data()), 1, &total);
    double norm = 0;
    download(mesh.processor(), static_cast<double const*>(squares), 1, &norm);

    step_report report;
    report.step = step;
    report.loss = targets_ > 0 ? total / static_cast<double>(targets_) : 0;
    report.gradient_norm = std::sqrt(norm) * mesh.ranks();
    report.learning_rate_factor = schedule_(step);
    detail::require_finite_factor(step, report.learning_rate_factor);
    if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm))
      throw error("trainer", "at step " + std::to_string(step) + " the loss of rank " +
                                 std::to_string(mesh.rank()) + " is " +
                                 std::to_string(report.loss) + " and the norm of its gradient " +
                                 std::to_string(report.gradient_norm) +
                                 ". It sends nothing; try a smaller learning rate.");
    exchange_.push(step, [&](int owner, std::span<T> to) {
      T* place = to.data();
      for (auto const& o : owned_[static_cast<std::size_t>(owner)])
        for (auto const* const use : o.uses)
          place = std::copy_n(use->sum().template data_as<T>(), o.elements, place);
    });
    exchange_.read(step + 1);
    has_asked_ = true;
    steps_ = ++step;
    clock.write_to(report, static_cast<double>(data.targets.size()));
    return report;
  }

  /// Waits until the values of all owners contain the gradients of all steps, and takes these
  /// values. Does nothing if no step followed the last call. Every rank calls it after the same
  /// step.
  void settle() {
    if (is_settled_) return;
    wait();
    exchange_.read(steps_, 0);
    wait();
    store();
    has_asked_ = false;
    model_->mesh().barrier();
    is_settled_ = true;
  }
  /// Throws ashlar::error unless settle() was called after the last step.
  void require_settled() const {
    if (is_settled_) return;
    throw error("trainer",
                "parameters are stale, and their owners may still update them. Call settle() on "
                "every rank before a checkpoint.");
  }
  /// Continues with step number `step` (trainer::continue_after).
  void continue_at(std::int64_t step) {
    require_settled();
    exchange_.continue_at(step);
    first_step_ = steps_ = step;
    earlier_.clear();
  }
  /// Continues with the numbers of squared gradients that AdamW has averaged in earlier,
  /// synchronous steps (trainer::continue_squares).
  void continue_squares(std::string const& text) { earlier_.continue_after(*model_, text); }
  /// Returns, as a text, how many squared gradients the optimizer's averages contain after the last
  /// step (sent_gradient.hpp), also for parameters that other ranks own.
  std::string numbers_of_squares() const {
    auto const& clock = exchange_.owner().clock();
    return earlier_.text(*model_, clock.updates_in(steps_) - clock.updates_in(first_step_));
  }
  /// Returns this rank's side as an owner: which gradients its values contain, and how many reads
  /// had to wait for gradients of other ranks.
  sync::parameter_owner<T> const& owner() const { return exchange_.owner(); }

 private:
  using letters_exchange = stale_exchange<T, mpi::mailbox>;

  /// A parameter of one owner.
  struct owned_parameter {
    parameter* first;
    std::size_t index;  ///< the number of the parameter for the optimizer
    std::int64_t elements;
    std::vector<parameter const*> uses;  ///< each has a gradient; more than one if it is tied
    tensor gradient;                     ///< allocated on the owner only
    std::size_t value_bytes() const {
      return static_cast<std::size_t>(elements * size_of(first->source().type()));
    }
  };
  /// The answers to the last request, as an operation for which the mesh can wait.
  struct arrival final : pending_operation {
    explicit arrival(letters_exchange const& e) : of(&e) {}
    bool advance() override { return of->has_arrived(); }
    letters_exchange const* of;
  };

  stale_training(Model& model, state& optimizer, trainer_options const& options,
                 nn::batch_part const& part)
      : model_(&model), optimizer_(&optimizer), schedule_(options.schedule),
        targets_(part.target.elements() * model.micro_batches()), total_(model.mesh(), 2),
        owned_(owned_by_ranks(model)),
        exchange_(
            model.mesh().rank(), model.plan().staleness, parts_of(owned_),
            [this](std::span<T const> gradient, std::int64_t step) { update(gradient, step); },
            [this](std::span<std::byte> to) { copy_values(to); }) {
    letters_ = model.mesh().open_mailbox(
        [this](int from, int kind, std::span<std::byte const> letter) {
          model_->mesh().record().note_service();
          exchange_.take(from, kind, letter);
        });
    exchange_.open(*letters_);
  }

  static std::vector<std::vector<owned_parameter>> owned_by_ranks(Model& model) {
    auto const& mesh = model.mesh();
    auto const& problem = model.problem();
    std::vector<std::vector<owned_parameter>> owned(static_cast<std::size_t>(mesh.ranks()));
    auto const at = [&](int element, int k) {
      return &nn::parameter_of(model.elements(), element, k);
    };
    std::size_t index = 0;
    for (int i = 0; i < problem.size(); ++i)
      for (int k = 0; k < problem.spec(i).parameters.size(); ++k) {
        parameter* const p = at(i, k);
        if (p->is_tied()) continue;
        owned_parameter o{p, index++, p->value().extents().elements(), {p}, {}};
        for (auto const& t : problem.ties)
          if (t.first == i && t.first_index == k) o.uses.push_back(at(t.later, t.later_index));
        int owner = 0;
        for (int a = 0; a < mesh.axes(); ++a)
          if (auto const& on = p->value().placement()[a]; on.is_owned()) owner += on.owner;
        if (owner == mesh.rank()) o.gradient = p->value().like(p->value().placement());
        owned[static_cast<std::size_t>(owner)].push_back(std::move(o));
      }
    return owned;
  }
  static std::vector<typename letters_exchange::part>
  parts_of(std::vector<std::vector<owned_parameter>> const& owned) {
    std::vector<typename letters_exchange::part> parts(owned.size());
    for (std::size_t r = 0; r < owned.size(); ++r)
      for (auto const& o : owned[r]) {
        parts[r].gradients += static_cast<std::size_t>(o.elements) * o.uses.size();
        parts[r].value_bytes += o.value_bytes();
      }
    return parts;
  }
  auto& own() { return owned_[static_cast<std::size_t>(model_->mesh().rank())]; }

  /// Calls f(o) for each parameter of each owner.
  template <class F>
  void for_each_owned(F const& f) const {
    for (auto const& of_rank : owned_)
      for (auto const& o : of_rank) f(o);
  }
  /// Adds the squares of a tied parameter's gradient, which is the sum over its uses, to `squares`.
  static void add_squares_of_uses(owned_parameter const& o, double& squares) {
    for (std::int64_t i = 0; i < o.elements; ++i) {
      double sum = 0;
      for (auto const* const use : o.uses) sum += double(use->sum().template data_as<T>()[i]);
      squares += sum * sum;
    }
  }

  /// Applies a gradient that was made in step `step` to the parameters that this rank owns.
  void update(std::span<T const> gradient, std::int64_t step) {
    auto const& clock = exchange_.owner().clock();
    double const factor = schedule_(step), p = clock.workers();
    detail::require_finite_factor(step, factor);
    auto scale = clock.sums_workers() ? update_scale{factor, 1} : update_scale{factor / p, p};
    auto const updates = clock.version() - clock.updates_in(first_step_);
    T const* from = gradient.data();
    for (auto& o : own()) {
      T* const to = o.gradient.template data_as<T>();
      std::copy_n(from, o.elements, to);
      from += o.elements;
      for (std::size_t use = 1; use < o.uses.size(); ++use, from += o.elements)
        for (std::int64_t i = 0; i < o.elements; ++i) to[i] += from[i];
      o.first->set_gradient(o.gradient);
      scale.squares = earlier_.squares_after(o.index, updates);
      optimizer_->update(o.index, clock.version(), *o.first, scale);
    }
  }
  /// Copies the values of the parameters that this rank owns to a letter.
  void copy_values(std::span<std::byte> to) {
    std::byte* place = to.data();
    for (auto const& o : own()) {
      std::memcpy(place, o.first->updated().data(), o.value_bytes());
      place += o.value_bytes();
    }
  }

  /// Waits until all owners have answered.
  void wait() {
    arrival all(exchange_);
    auto& record = model_->mesh().record();
    auto const number = record.began("a read of stale parameters");
    model_->mesh().wait(all);
    record.ended(number);
  }
  /// Stores the values of the answers where layers read them.
  void store() {
    exchange_.for_each_answer([&](int owner, std::span<std::byte const> values) {
      std::byte const* from = values.data();
      for (auto const& o : owned_[static_cast<std::size_t>(owner)]) {
        std::memcpy(o.first->source().data(), from, o.value_bytes());
        from += o.value_bytes();
      }
    });
  }
  /// Takes the values that the next step reads. After settle(), first waits until no rank uses the
  /// settled values any more, such as for a checkpoint. Owners may update these values afterwards.
  void take_values() {
    if (is_settled_) {
      model_->mesh().barrier();
      is_settled_ = false;
    }
    if (!has_asked_) return;
    wait();
    store();
    has_asked_ = false;
  }

  Model* model_;
  state* optimizer_;
  std::function<double(std::int64_t)> schedule_;
  std::int64_t targets_;    // of this rank's samples in a step
  nn::kept<double> total_;  // this rank's summed loss, and the sum of its gradient's squares
  std::vector<std::vector<owned_parameter>> owned_;  // by owner
  letters_exchange exchange_;
  std::unique_ptr<mpi::mailbox> letters_;
  std::int64_t first_step_ = 0, steps_ = 0;
  sent_gradients earlier_;  // the squares before first_step_; later updates square all gradients
  bool is_settled_ = true;
  bool has_asked_ = false;  // whether the next step takes answers
  exception_watch watch_;
};

}  // namespace ashlar::train
