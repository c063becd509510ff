// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The errors that wires with error feedback (plan/wire.hpp) have made in the redistributions of a
// program. The executor keeps them from step to step.

#include <vector>

#include <ashlar/step/program.hpp>
#include <ashlar/support/recycled.hpp>
#include <ashlar/tensor/wire_errors.hpp>

namespace ashlar::nn {

class errors_of_moves {
 public:
  /// The program must outlive this object.
  explicit errors_of_moves(step::program const& p) : program_(&p), errors_(p.moves.size()) {}

  /// Returns the errors of moves whose wire has error feedback, and else nothing. `moves` has
  /// numbers of the program's moves.
  recycled_vector<wire_errors*> of(recycled_vector<int> const& moves) {
    recycled_vector<wire_errors*> errors;
    for (int const k : moves)
      if (program_->path_of(program_->moves[static_cast<std::size_t>(k)]).wire.feedback)
        errors.push_back(&errors_[static_cast<std::size_t>(k)]);
    return errors;
  }

  /// Returns the errors of one step of the redistribution that sums the gradient of a parameter with
  /// a wire: parameter `index` of an element. There is room for `count` numbers. Throws
  /// ashlar::error if the program has no such redistribution.
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

  /// Sets all errors to zero.
  void clear() { errors_.assign(errors_.size(), {}); }

 private:
  step::program const* program_;
  std::vector<wire_errors> errors_;  // one per move
};

}  // namespace ashlar::nn
