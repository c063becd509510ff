// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a forward pass is told beside its input, and what placing a net is told beside the plan.
//
//   pass             dropout acts    layers save what their backward passes need
//   not training     no              no
//   training         yes             saves()
//   without keep     yes             no: the pass will be run again (segment.hpp)

#include <cstdint>

namespace ashlar::nn {

/// One forward pass. Everything random in it depends on these numbers and global indices only.
struct pass {
  bool training = true;
  std::uint64_t seed = 0;
  std::int64_t number = 0;  ///< of the pass: step · micro-batches + micro-batch
  bool keep = true;         ///< a backward pass follows before this is run again

  constexpr bool saves() const { return training && keep; }
};

/// Hands out the random streams of parameters and dropout layers in the order of the net, so that
/// the values depend on the net and the seed, never on the plan. Numbers the segments, too.
struct stream_counter {
  std::uint64_t seed = 0;
  std::uint64_t next = 0;
  int segments = 0;         ///< met so far
  bool in_segment = false;  ///< those within one are none
};

}  // namespace ashlar::nn
