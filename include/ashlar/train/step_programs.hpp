// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The program of a training's steps, and the executor that runs it. If the plan has wires and plain
// steps (plan::plain_steps), there are two programs:
//
//   steps                     program
//   0 .. plain_steps - 1      all gradients are exact
//   from plain_steps on       gradients have their wires; their errors begin as zero
//
// Only the program of the current step exists. The other one is built when its first step begins.
// Every rank switches at the same step, since nn::place has compared the ranks' plans.

#include <algorithm>
#include <memory>
#include <utility>

#include <ashlar/nn/model.hpp>
#include <ashlar/step/crossings_at_once.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/train/trainer_options.hpp>

namespace ashlar::train {

template <class Model>
class step_programs {
  using executor = nn::executor<typename Model::mesh_type::processor_type>;

 public:
  /// Builds the program of step 0. The model must outlive this object. `records` says whether the
  /// executor records the times of actions. `beta` is the decay factor of the averages of gradients
  /// that wires with momentum send.
  step_programs(Model const& model, overlap wanted, bool records, double beta)
      : model_(&model), overlap_(wanted), records_(records), beta_(beta) {
    build(search::is_plain_step(model.plan(), 0));
  }

  /// Makes the program of step number `step`, counted from 0, the current one. If the last step had
  /// another program, the errors that wires keep and the recorded times are lost.
  void take(std::int64_t step) {
    if (bool const plain = search::is_plain_step(model_->plan(), step); plain != is_plain_)
      build(plain);
  }
  step::program const& program() const { return *program_; }
  executor& walker() { return *walker_; }
  executor const& walker() const { return *walker_; }

 private:
  void build(bool plain) {
    auto program = std::make_unique<step::program>(
        program_of(*model_, model_->program(plain), overlap_));
    // `new` constructs the executor in place, since an executor on a device cannot be moved.
    std::unique_ptr<executor> walker(new executor(model_->make_executor(*program)));
    walker->wire_errors().set_momentum(beta_);
    if (records_) walker->record_times();
    // From here on nothing throws. The old executor refers to the old program, so it is replaced
    // first.
    walker_ = std::move(walker);
    program_ = std::move(program);
    is_plain_ = plain;
  }

  /// Returns the program of a step. With overlap::none, every transfer ends before the program goes
  /// on. Otherwise transfers overlap with computations where this makes the predicted step faster.
  /// If the machine's memory is given, it limits the memory of the overlapped program. If the
  /// serial program needs more, its peak memory is the limit instead.
  static step::program program_of(Model const& model, step::program serial, overlap wanted) {
    if (wanted == overlap::none) return step::with_crossings_at_once(std::move(serial));
    auto const& m = model.mesh().machine();
    step::overlap_options how;
    if (m.memory > 0)
      how.limit = std::max(static_cast<std::int64_t>(m.memory), step::high_water(serial).peak);
    return step::overlapped(serial, m, how).made;
  }

  Model const* model_;
  overlap overlap_;
  bool records_, is_plain_ = false;
  double beta_;
  std::unique_ptr<step::program> program_;  // its address is fixed: the executor refers to it
  std::unique_ptr<executor> walker_;
};

}  // namespace ashlar::train
