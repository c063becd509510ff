// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The errors of wires with feedback (tensor/wire_errors.hpp), and the averages of gradients that
// wires with momentum send (nn/errors_of_moves.hpp), as arrays that a checkpoint can keep.
// Every rank has errors of its own, and the ranks have different numbers of errors. So the errors
// of one step of a gradient's synchronization are a matrix with a row for each rank. All rows are
// as long as the row of the rank that has the most errors; shorter rows end with zeros.

#include <string>

#include <ashlar/nn/errors_of_moves.hpp>
#include <ashlar/nn/placed_array.hpp>
#include <ashlar/plan/encoded_redistribution.hpp>

namespace ashlar::train {

/// Calls f(name, rows, shard) for the errors of each encoded step of each gradient's
/// synchronization, and for the averages of each gradient. The name contains the number of the
/// step, or for averages the number of all steps. `rows` is the result of nn::rows_of_ranks, and
/// `shard` is this rank's row, or null if the rank is not in the gradient's part of a pipeline. The
/// order and the names are the same on all ranks.
template <class Model, class F>
void for_each_wire_array(Model const& model, nn::errors_of_moves& errors, F f) {
  auto const& problem = model.problem();
  for (auto const& node : model.elements()) {
    int k = -1;
    for (auto& p : node->parameters()) {
      auto const& choice = model.plan()[p.element()].parameters[++k];
      auto const& spec = problem.spec(p.element()).parameters[k];
      if (!choice.wire.feedback || choice.grad == choice.updated_at()) continue;
      auto const& mesh = p.sum().mesh();
      auto const path = plan_encoded(spec.extents, problem.accumulation_size, choice.grad,
                                     choice.updated_at(), choice.wire, mesh.topology(), {});
      for (int s = 0; s <= path.steps.size(); ++s) {
        auto const most = s < path.steps.size()
                              ? kept_elements(path.steps[s], path.extents, mesh.topology())
                              : averaged_elements(path, mesh.topology());
        if (most == 0) continue;
        f("wire_errors." + std::to_string(s) + "/" + p.path(), nn::rows_of_ranks(mesh, most),
          mesh.is_here() ? errors.of_gradient(p.element(), k, static_cast<std::size_t>(s), most)
                         : nullptr);
      }
    }
  }
}

}  // namespace ashlar::train
