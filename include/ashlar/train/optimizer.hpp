// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The requirements on an optimizer. It consists of options, which a user writes, and of a state for
// each element type, which a trainer keeps.
//
//   struct options { static constexpr int states;  template <class T> using state = …; };
//   state.update(index, step, parameter, scale)
//
// An optimizer works element by element on the stored shards. Therefore it need not know
// placements, it communicates nothing, and a sharded parameter has sharded state. It reads
// gradient() and decays() of an nn::parameter (decays() is true for weights and tables, not for
// biases and gains). It writes value() and, if that is not null, copy(). It does so by an operation
// of the mesh's processor, and its state is in the memory of that processor. T is the type of
// stored values. `index` is the number of the parameter, the same at every step; `step` counts from
// 1. Optimizers: adam_w.hpp, sgd.hpp.

#include <cstddef>
#include <vector>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/kept.hpp>

namespace ashlar::train {

/// The factors of one update: `rate` scales lr (the schedule), `clip` scales the gradient.
struct update_scale {
  double rate = 1;
  double clip = 1;
};

/// The state of an optimizer: `States` values for each element of each parameter, initially zero.
template <class T, int States>
class optimizer_memory {
 public:
  /// Returns the state of parameter `index`: `States` consecutive arrays, each as long as its
  /// shard.
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
