// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The errors that wires with error feedback (plan/wire.hpp) have made in the redistributions of a
// program, and the averages of gradients that wires with momentum send. The executor keeps them
// from step to step. In the n-th step, n counted from 1, an average a of gradients g becomes
//
//   a + (g - a) (1 - beta) / (1 - beta^n)
//
// So it is the first moment of Adam with bias correction, of this rank's addends. It is linear: the
// sum of the averages of all ranks is the average of their sums. If every rank gets the whole sum,
// as by an all-reduce, a is then replaced by an equal share of this sum. This is the rule of 1-bit
// Adam: all ranks send nearly the same, so that the errors of a coarse wire are smaller. Otherwise,
// as under ZeRO, no rank but the owner knows the sum, and each rank goes on with its own average.
//
// The averages contain the gradients of every step that has run, also of one that the trainer then
// refuses. It takes no other step after such a one (train/sent_gradient.hpp).

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

  /// Returns the errors of those of the moves whose wire has error feedback. `moves` has the
  /// numbers of moves of the program.
  recycled_vector<wire_errors*> of(recycled_vector<int> const& moves) {
    recycled_vector<wire_errors*> errors;
    for (int const k : moves)
      if (program_->path_of(program_->moves[static_cast<std::size_t>(k)]).wire.feedback)
        errors.push_back(&errors_[static_cast<std::size_t>(k)]);
    return errors;
  }

  /// Sets the beta of the averages, in [0, 1). With 0, an average is the gradient itself.
  void set_momentum(double beta) { beta_ = beta; }

  /// Returns the tensor that move k sends, from its slot. If the wire has momentum, the tensor is a
  /// gradient, which is first replaced by its average; the average gets one step more. A gradient
  /// that is not finite stays as it is, and so does its average.
  template <class Processor>
  any_tensor<Processor> const& averaged(int k, execution<Processor> const& slots) {
    auto const& move = program_->moves[static_cast<std::size_t>(k)];
    auto const& path = program_->path_of(move);
    auto const& moved = slots.tensor(move.from);
    if constexpr (Processor::is_host)
      if (path.wire.momentum)
        take(errors_[static_cast<std::size_t>(k)], static_cast<std::size_t>(path.steps.size()),
             moved.template data_as<float>(), moved.local_elements());
    return moved;
  }

  /// Returns `sum`, what move k has brought. If the wire has momentum and every rank has the whole
  /// sum, each rank continues with an equal share of it, unless it is not finite.
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

  /// Returns the errors of one step of a redistribution: the one that sums the gradient of
  /// parameter `index` of an element with a wire. For the number behind that of the last step,
  /// returns the averages of the gradient. There is room for `count` numbers. Throws ashlar::error
  /// if the program has no such redistribution.
  float* of_gradient(int element, int index, std::size_t step, std::int64_t count) {
    for (std::size_t k = 0; k < errors_.size(); ++k)
      if (auto const& m = program_->moves[k];
          m.phase == step::phase::synchronize && m.what == step::moved::parameter &&
          m.element == element && m.index == index && program_->path_of(m).wire.feedback)
        return errors_[k].room(step, count);
    throw error("errors_of_moves", "element " + std::to_string(element) +
                                       " does not synchronize the gradient of its parameter " +
                                       std::to_string(index) + ".");
  }

  /// Sets all errors to zero. Averages begin anew.
  void clear() { errors_.assign(errors_.size(), {}); }

 private:
  /// Averages n gradients. Behind the averages is the number of steps in them.
  void take(wire_errors& kept, std::size_t place, float* gradient, std::int64_t n) const {
    if (!std::all_of(gradient, gradient + n, [](float g) { return std::isfinite(g); })) return;
    float* const averages = kept.of_step(place, n + 1);
    double const steps = double(averages[n]) + 1;
    auto const weight = static_cast<float>((1 - beta_) / (1 - std::pow(beta_, steps)));
    for (std::int64_t i = 0; i < n; ++i)
      gradient[i] = averages[i] += weight * (gradient[i] - averages[i]);
    averages[n] = static_cast<float>(steps);
  }

  /// Returns the number of addends in the sums of a redistribution if every rank gets all of the
  /// sums, otherwise 0.
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

  /// Replaces the n averages by shares of their sum, if the sum and thus the averages are finite.
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
