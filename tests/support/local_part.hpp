// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cuts one rank's part out of a whole batch. A rank passes this part to a training step that takes
// local parts (train::local_batch). The code copies element by element and does not use the
// library's functions that copy boxes, so a test can compare the two.

#include <vector>

#include <ashlar/train/trainer.hpp>

namespace ashlar_test {

/// Appends the elements of the array `whole` that lie in box `b`, in row-major order.
template <class T>
void append_box(std::vector<T>& to, T const* whole, ashlar::shape const& extents,
                ashlar::box const& b) {
  for (std::int64_t i = 0; i < (extents.rank() == 0 ? 0 : extents.elements()); ++i) {
    bool inside = true;
    std::int64_t rest = i;
    for (int d = extents.rank() - 1; d >= 0; --d) {
      auto const at = rest % extents[d];
      inside = inside && at >= b[d].begin && at < b[d].end();
      rest /= extents[d];
    }
    if (inside) to.push_back(whole[i]);
  }
}

/// Returns the part of the batch `data` that this rank needs.
template <class Model, class Optimizer, class Input, class Target>
auto local_part(ashlar::train::trainer<Model, Optimizer> const& t,
                ashlar::train::batch_data<Input, Target> const& data) {
  ashlar::train::local_batch<Input, Target> made;
  auto const& model = t.model();
  auto const& part = t.part();
  for (int b = 0; b < model.micro_batches(); ++b) {
    auto const* const x = data.inputs.data() + b * model.inputs();
    append_box(made.inputs, x, model.input_extents(), part.input);
    append_box(made.inputs, x + model.input_extents().elements(), model.context_extents(),
               part.context);
    append_box(made.targets, data.targets.data() + b * model.rows(), model.target_extents(),
               part.target);
  }
  return made;
}

}  // namespace ashlar_test
