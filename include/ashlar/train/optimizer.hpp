// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What an optimizer is: options that a user writes and, per element type, the state a trainer keeps.
//
//   struct options { static constexpr int states;  template <class T> using state = …; };
//   state.update(index, step, parameter, scale)
//
// It works on the shards as stored, element by element, so where a tensor lies does not matter and
// nothing is communicated; a sharded parameter has sharded state. Of nn::parameter it reads gradient()
// and decays() (true for weights and tables, not for biases and gains) and writes value() and, unless it
// is null, copy(): by an operation of the mesh's processor, in whose memory the state lies too. T is
// what values are kept in. `index` names the parameter, the same one at every step; `step` counts from 1.
// Optimizers: adam_w.hpp, sgd.hpp.

#include <cstddef>
#include <vector>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/kept.hpp>

namespace ashlar::train {

/// Factors of one update: `rate` scales lr (the schedule), `clip` the gradient.
struct update_scale {
  double rate = 1;
  double clip = 1;
};

/// So many values of each element of each parameter, zero at first.
template <class T, int States>
class optimizer_memory {
 public:
  /// Those of parameter `index`, as many as its shard has elements, one state after the other.
  template <class Parameter>
  T* of(std::size_t index, Parameter const& p) {
    if (index >= states_.size()) states_.resize(index + 1);
    auto& block = states_[index];
    if (block.data() == nullptr) {
      auto const& m = p.value().mesh();
      block = nn::kept<T>(m, States * p.value().local_elements());
      fill(m.processor(), T{}, block.size(), block.data());
    }
    return block.data();
  }

 private:
  std::vector<nn::kept<T>> states_;
};

}  // namespace ashlar::train
