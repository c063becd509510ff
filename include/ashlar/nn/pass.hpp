// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a forward pass is told besides its values. Everything random in it depends on these numbers and on
// global indices only, so that a pass that is run again makes the same values bit by bit.

#include <cstdint>

namespace ashlar::nn {

/// One forward pass.
struct pass {
  bool training = true;  ///< dropout acts
  std::uint64_t seed = 0;
  std::int64_t number = 0;  ///< of the pass: step · micro-batches + micro-batch
};

}  // namespace ashlar::nn
