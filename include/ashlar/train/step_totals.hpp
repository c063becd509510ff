// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The numbers that the ranks add up once per training step: the loss, the squared gradient norm of
// each parameter, the statistics of mixtures of experts, and a check that all ranks have the same
// batch. In a pipeline, they also add up the seconds in which they are busy.
//
// Each rank's part of the loss and of the squared norms is in the memory of the mesh's processor.
// So kernels can add to them, and the host waits for a device only once per step, when it reads all
// sums.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <ashlar/comm/agreement_in_sums.hpp>
#include <ashlar/comm/operation_label.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/mixture_log.hpp>
#include <ashlar/train/step_faults.hpp>

namespace ashlar::train::detail {

/// The sums of a step over all ranks.
struct totals {
  double loss = 0;
  double squares = 0;           ///< the squared norm of the gradients of all parameters
  nn::mixture_sums mixtures{};  ///< zeros if the net has no mixtures of experts
  double busy = 0;              ///< in a pipeline: the seconds that the ranks gave to add_up
};

template <class Model>
class step_totals {
 public:
  /// The model must outlive this object. Communicates nothing.
  step_totals(Model& model, bool has_mixtures)
      : model_(&model), has_mixtures_(has_mixtures),
        is_pipeline_(!(model.stage_mesh() == model.mesh())) {
    model.for_each_parameter([&](auto const&) { ++parameters_; });
    parts_ = nn::kept<double>(model.mesh(), 1 + parameters_ + mixtures() + agreement);
  }

  /// Sets this rank's part of the loss and of all squared norms to zero.
  void clear() const { fill(model_->mesh().processor(), 0.0, 1 + parameters_, parts_.data()); }
  /// Returns the address of this rank's part of the summed loss, in the memory of the mesh.
  double* loss() const { return parts_.data(); }
  /// Returns the address of this rank's part of the squared gradient norm of each parameter, in the
  /// order of the net.
  double* squares() const { return parts_.data() + 1; }

  /// Adds up the parts of all ranks. Throws ashlar::error on every rank if the ranks have different
  /// batches in step `step`. `hash` is the hash of this rank's batch, and `fault` says what is
  /// wrong with the batch, or is empty. `busy` is the number of seconds in which this rank did not
  /// wait for other parts of a pipeline. Communicates: one all-reduce, or two in a pipeline.
  totals add_up(std::int64_t step, std::uint64_t hash, std::string const& fault,
                double busy) const {
    auto const& mesh = model_->mesh();
    [[maybe_unused]] auto const scope = range(mesh.processor(), "totals");
    auto const of_mixtures = model_->mixtures().sums().values();
    auto const of_batch = agreement_of(hash);
    double* const after = squares() + parameters_;
    if (has_mixtures_) upload(mesh.processor(), of_mixtures.data(), mixtures(), after);
    upload(mesh.processor(), of_batch.data(), agreement, after + mixtures());
    // The seconds are not in the all-reduce within the stage, so that all other sums have the same
    // bits as without a pipeline.
    std::vector<double> sums(static_cast<std::size_t>(parts_.size()) + is_pipeline_);
    auto const of_step = std::span(sums).first(static_cast<std::size_t>(parts_.size()));
    operation_label const named(mesh, "loss and gradient norms");
    auto const& stage = model_->stage_mesh();
    stage.all_reduce(static_cast<double const*>(parts_.data()), of_step);
    if (is_pipeline_) {
      if (stage.rank() != 0) std::fill(sums.begin(), sums.end(), 0.0);
      sums.back() = busy;
      mesh.all_reduce(std::span<double>(sums));
    }
    require_equal_batches(*model_, step,
                          std::span<double const>(of_step).template last<agreement_addends>(), hash,
                          fault);
    auto const end = of_step.begin() + 1 + parameters_;
    totals made{sums[0], std::accumulate(of_step.begin() + 1, end, 0.0)};
    if (is_pipeline_) made.busy = sums.back();
    if (has_mixtures_)
      made.mixtures = nn::mixture_sums::from(
          std::span<double const, nn::mixture_sums::count>(end, end + nn::mixture_sums::count));
    return made;
  }

 private:
  static constexpr auto agreement = static_cast<std::int64_t>(agreement_addends);
  std::int64_t mixtures() const { return has_mixtures_ ? nn::mixture_sums::count : 0; }

  Model* model_;
  bool has_mixtures_, is_pipeline_;
  std::int64_t parameters_ = 0;
  // This rank's part of the loss, of each parameter's squared norm, of the statistics of mixtures,
  // and the addends of the check for equal batches.
  nn::kept<double> parts_;
};

}  // namespace ashlar::train::detail
