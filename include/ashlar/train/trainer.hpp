// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The training step: micro-batches forward and backward, gradient synchronization, the global norm,
// clipping, the update.
//
//   train::trainer t(model, train::adam_w{.lr = 3e-4}, {.clip = 1.0});
//   for (auto const& batch : data) std::cout << t.step(batch) << '\n';
//
// Communicates what search::schedule says of the plan, and one all-reduce of two doubles (summed
// loss, squared norm) over the whole mesh. A loss or a gradient that is not finite is an error on
// every rank in the same step, before any parameter is touched.
//
// Both sums are made where the tensors are and read once a step: the one time that the host waits for a
// device. What a step leaves there to be done, its updates, is in the next one's seconds.

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <ashlar/nn/model.hpp>
#include <ashlar/train/adam_w.hpp>
#include <ashlar/train/replayed_step.hpp>
#include <ashlar/train/schedule.hpp>
#include <ashlar/train/sgd.hpp>
#include <ashlar/train/step_report.hpp>

namespace ashlar::train {

/// The data of one step: all micro-batches, one after the other, the same on every rank.
template <class Input = std::int32_t>
struct batch_data {
  std::vector<Input> inputs;
  std::vector<std::int32_t> targets;  ///< one per row; < 0: ignore
};

/// What a trainer does besides its optimizer.
struct trainer_options {
  double clip = std::numeric_limits<double>::infinity();  ///< largest global gradient norm
  std::function<double(std::int64_t)> schedule = constant_rate{};
  double step_flops = 0;        ///< search::model_flops of the problem; 0: no utilization is told
  double peak_flops = 0;        ///< per second of one rank (machine/peak.hpp)
  char const* unit = "tokens";  ///< what the progress line calls a row
  bool graph = false;           ///< on devices: steps as one CUDA graph each (replayed_step.hpp)
};

/// Steps of training of one model; the model must outlive it.
template <class Model, class Optimizer>
class trainer {
 public:
  trainer(Model& model, Optimizer const& optimizer, trainer_options options = {})
      : model_(&model), state_(optimizer), options_(std::move(options)), totals_(model.mesh(), 2) {
    if (options_.graph && !replayed_step<Model>::exists)
      throw error("trainer", "graphs are of devices, and the model is in the host's memory. Leave "
                             "trainer_options.graph off, or place it on a mesh of "
                             "nccl::environment.");
  }

  /// One step. Throws ashlar::error on every rank if sizes do not fit or a number is not finite.
  step_report step(batch_data<typename Model::input_type> const& data) {
    auto const start = std::chrono::steady_clock::now();
    auto const& mesh = model_->mesh();
    double const communicated = mesh.communication_seconds();
    auto const micro_batches = static_cast<std::size_t>(model_->micro_batches());
    auto const inputs = static_cast<std::size_t>(model_->input_extents().elements());
    auto const rows = static_cast<std::size_t>(model_->rows());
    if (data.inputs.size() != inputs * micro_batches || data.targets.size() != rows * micro_batches)
      throw error("trainer", "a step takes " + std::to_string(inputs * micro_batches) +
                                 " inputs and " + std::to_string(rows * micro_batches) +
                                 " targets, but was given " + std::to_string(data.inputs.size()) +
                                 " and " + std::to_string(data.targets.size()) + ".");

    auto const& on = mesh.processor();
    [[maybe_unused]] auto const step_scope = range(on, ("step " + std::to_string(step_)).c_str());
    auto const number = [&](std::size_t i) {
      return step_ * model_->micro_batches() + static_cast<std::int64_t>(i);
    };
    if (options_.graph) {
      graph_.set(*model_, data.inputs, data.targets);
      graph_.run(mesh, [&] {
        make_gradients(micro_batches, [&](std::size_t i) {
          model_->accumulate(graph_.place(i), number(i), totals_.data());
        });
      });
    } else {
      make_gradients(micro_batches, [&](std::size_t i) {
        model_->accumulate(std::span(data.inputs).subspan(i * inputs, inputs),
                           std::span(data.targets).subspan(i * rows, rows), number(i),
                           totals_.data());
      });
    }
    double totals[2];
    {
      [[maybe_unused]] auto const scope = range(on, "totals");
      mesh.all_reduce(static_cast<double const*>(totals_.data()), std::span<double>(totals));
    }

    step_report report;
    report.step = step_;
    report.loss = totals[0] / static_cast<double>(rows * micro_batches);
    report.gradient_norm = std::sqrt(totals[1]);
    if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm))
      throw error("trainer", "at step " + std::to_string(step_) + " the loss is " +
                                 std::to_string(report.loss) + " and the gradient norm " +
                                 std::to_string(report.gradient_norm) +
                                 ". Parameters are as before this step; try a smaller learning "
                                 "rate.");
    report.learning_rate_factor = options_.schedule(step_);
    update_scale const scale{report.learning_rate_factor, report.gradient_norm > options_.clip
                                                              ? options_.clip / report.gradient_norm
                                                              : 1.0};
    [[maybe_unused]] auto const scope = range(on, "update");
    std::size_t index = 0;
    ++step_;
    model_->for_each_parameter([&](auto& p) { state_.update(index++, step_, p, scale); });

    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.tokens_per_second = static_cast<double>(rows * micro_batches) / report.seconds;
    report.communication_share = (mesh.communication_seconds() - communicated) / report.seconds;
    report.unit = options_.unit;
    if (options_.step_flops > 0 && options_.peak_flops > 0)
      report.model_flops_utilization = options_.step_flops /
                                       (report.seconds * mesh.ranks() * options_.peak_flops);
    return report;
  }

  std::int64_t steps_done() const { return step_; }

 private:
  /// Gradients and totals of a step; `accumulate(i)` does micro-batch i.
  template <class Accumulate>
  void make_gradients(std::size_t micro_batches, Accumulate const& accumulate) {
    auto const& mesh = model_->mesh();
    auto const& on = mesh.processor();
    double* const summed = totals_.data();
    model_->clear_gradients();
    fill(on, 0.0, totals_.size(), summed);
    for (std::size_t i = 0; i < micro_batches; ++i) accumulate(i);
    {
      [[maybe_unused]] auto const scope = range(on, "synchronize");
      model_->synchronize();
    }
    [[maybe_unused]] auto const scope = range(on, "norm");
    model_->for_each_parameter([&](auto& p) {
      auto const& g = p.gradient();
      if (is_representative(g.placement(), mesh.here()))
        add_sum_of_squares(on, mesh.memory(), g.data(), g.local_elements(), summed + 1);
    });
  }

  Model* model_;
  typename Optimizer::template state<accumulation_t<typename Model::value_type>> state_;
  trainer_options options_;
  nn::kept<double> totals_;  ///< summed loss, squared gradient norm
  replayed_step<Model> graph_;
  std::int64_t step_ = 0;
};

template <class Model, class Optimizer>
trainer(Model&, Optimizer) -> trainer<Model, Optimizer>;
template <class Model, class Optimizer>
trainer(Model&, Optimizer, trainer_options) -> trainer<Model, Optimizer>;

}  // namespace ashlar::train
