// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The errors that wires with error feedback have made in the redistributions of a program, and the
// averages of gradients that wires with momentum send. A wire is the format in which a gradient is
// sent (plan/wire.hpp). The executor keeps errors and averages from step to step. With its n-th
// gradient g (counted from 1), an average a becomes
//
//   a + (g - a) (1 - beta) / (1 - beta^n)
//
// So a is the first moment of Adam with bias correction, computed from this rank's addends of the
// gradient. The formula is linear: the sum of the averages of all ranks is the average of their
// sums. If every rank gets the whole sum, as in an all-reduce, each rank then replaces its a by an
// equal share of this sum. This is the rule of 1-bit Adam: all ranks send nearly the same values,
// so the errors of a coarse wire are smaller. Otherwise, as under ZeRO, only the owner knows the
// sum, and each rank goes on with its own average.
//
// The averages contain all finite gradients of the steps that have run, even those of a step that
// the trainer then refuses. The trainer takes no other step after a refused one
// (train/sent_gradient.hpp).

#include <algorithm>
#include <cmath>
#include <vector>

#include <ashlar/nn/execution.hpp>
#include <ashlar/step/program.hpp>
#include <ashlar/support/recycled.hpp>
#include <ashlar/tensor/wire_errors.hpp>

namespace ashlar::nn {

class errors_of_moves {
 public:
  /// The program must outlive this object.
  explicit errors_of_moves(step::program const& p) : program_(&p), errors_(p.moves.size()) {}

  /// `moves` has the numbers of some moves of the program. Returns the errors of those moves whose
  /// wire has error feedback.
  recycled_vector<wire_errors*> of(recycled_vector<int> const& moves) {
    recycled_vector<wire_errors*> errors;
    for (int const k : moves)
      if (program_->path_of(program_->moves[static_cast<std::size_t>(k)]).wire.feedback)
        errors.push_back(&errors_[static_cast<std::size_t>(k)]);
    return errors;
  }

  /// Sets the beta of the averages, in [0, 1). With 0, an average is the gradient itself.
  void set_momentum(double beta) { beta_ = beta; }

  /// Returns the tensor that move k sends. If the wire of the move has momentum, this tensor is a
  /// gradient, and the function first adds it to its average over the steps and overwrites it with
  /// the average. A gradient that is not finite stays as it is, and so does its average.
  template <class Processor>
  any_tensor<Processor> const& averaged(int k, execution<Processor> const& on) {
    auto const& move = program_->moves[static_cast<std::size_t>(k)];
    auto const& path = program_->path_of(move);
    auto const& moved = on.tensor(move.from);
    if constexpr (Processor::is_host)
      if (path.wire.momentum)
        take(errors_[static_cast<std::size_t>(k)], static_cast<std::size_t>(path.steps.size()),
             moved.template data_as<float>(), moved.local_elements());
    return moved;
  }

  /// Returns `sum`, the result of move k. Before that, each rank replaces its average by an equal
  /// share of the sum, if three conditions hold: the wire has momentum, every rank has the whole
  /// sum, and the sum is finite.
  template <class Processor>
  any_tensor<Processor> const& received(int k, any_tensor<Processor> const& sum) {
    auto const& path = program_->path_of(program_->moves[static_cast<std::size_t>(k)]);
    if constexpr (Processor::is_host)
      if (path.wire.momentum)
        if (int const addends = replicated_addends(path); addends > 0)
          share(errors_[static_cast<std::size_t>(k)], static_cast<std::size_t>(path.steps.size()),
                sum.template data_as<float>(), sum.local_elements(), addends);
    return sum;
  }

  /// Returns an array of `count` numbers that belongs to the redistribution that sums the gradient
  /// of parameter `index` of element `element`. If `step` is the index of a step of this
  /// redistribution, the array has the errors of that step. If `step` is the number of steps, the
  /// array has the averages of the gradient. Throws ashlar::error if the program has no such
  /// redistribution with error feedback.
  float* of_gradient(int element, int index, std::size_t step, std::int64_t count) {
    for (std::size_t k = 0; k < errors_.size(); ++k)
      if (auto const& m = program_->moves[k];
          m.phase == step::phase::synchronize && m.what == step::moved::parameter &&
          m.element == element && m.index == index && program_->path_of(m).wire.feedback)
        return errors_[k].room(step, count);
    throw error("trainer", "element " + std::to_string(element) +
                               " does not synchronize the gradient of its parameter " +
                               std::to_string(index) + ".");
  }

  /// Sets all errors to zero, and starts all averages anew.
  void clear() { errors_.assign(errors_.size(), {}); }

 private:
  /// Adds a gradient of n elements to its averages, as one more step, and overwrites the gradient
  /// with the averages. In their array, the averages are followed by the number of steps that they
  /// contain. Does nothing if the gradient is not finite.
  void take(wire_errors& kept, std::size_t place, float* gradient, std::int64_t n) const {
    if (!std::all_of(gradient, gradient + n, [](float g) { return std::isfinite(g); })) return;
    float* const averages = kept.of_step(place, n + 1);
    double const steps = double(averages[n]) + 1;
    auto const weight = static_cast<float>((1 - beta_) / (1 - std::pow(beta_, steps)));
    for (std::int64_t i = 0; i < n; ++i)
      gradient[i] = averages[i] += weight * (gradient[i] - averages[i]);
    averages[n] = static_cast<float>(steps);
  }

  /// If every rank gets all of the sums of a redistribution, returns the number of addends of each
  /// sum, otherwise 0.
  int replicated_addends(redistribution_plan const& path) const {
    int addends = 1;
    placement same = path.from;
    for (int a = 0; a < path.from.axes(); ++a)
      if (path.from[a].is_partial()) {
        same.axis[a] = broadcast();
        addends *= program_->mesh.extent(a);
      }
    return same == path.to ? addends : 0;
  }

  /// Replaces each of the n averages by an equal share of `sum`, the sum over `addends` ranks. Does
  /// nothing if a sum is not finite.
  static void share(wire_errors& kept, std::size_t place, float const* sum, std::int64_t n,
                    int addends) {
    if (!std::all_of(sum, sum + n, [](float g) { return std::isfinite(g); })) return;
    float* const averages = kept.of_step(place, n + 1);
    for (std::int64_t i = 0; i < n; ++i) averages[i] = sum[i] / static_cast<float>(addends);
  }

  step::program const* program_;
  std::vector<wire_errors> errors_;  // one per move
  double beta_ = 0;
};

}  // namespace ashlar::nn
