// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What an optimizer is: options that a user writes and, per element type, the state a trainer keeps.
//
//   struct options { static constexpr int states;  template <class T> using state = …; };
//   state.update(index, step, value, gradient, decays, scale)
//
// It works on the shards as stored, element by element, so where a tensor lies does not matter and
// nothing is communicated; a sharded parameter has sharded state. `decays` is true for weights and
// tables, not for biases and gains. `index` names the parameter, the same one at every step; `step`
// counts from 1. Optimizers: adam_w.hpp, sgd.hpp.

namespace ashlar::train {

/// Factors of one update: `rate` scales lr (the schedule), `clip` the gradient.
struct update_scale {
  double rate = 1;
  double clip = 1;
};

}  // namespace ashlar::train
