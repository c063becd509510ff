// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The arguments of a forward pass other than tensors. Random numbers in a pass depend only on these
// arguments, the layer and global indices. So a pass that is recomputed makes the same values bit
// by bit.

#include <cstdint>

namespace ashlar::nn {

struct mixture_log;
struct token_cache;

/// The arguments of one forward pass.
struct pass {
  bool training = true;  ///< whether dropout is active
  std::uint64_t seed = 0;
  std::int64_t number = 0;          ///< the number of the pass: step · micro-batches + micro-batch
  int micro_batches = 1;            ///< the number of micro-batches of a step
  mixture_log* mixtures = nullptr;  ///< the net's log (nn/mixture_log.hpp)
  int element = 0;                  ///< the number of the element in the net
  bool is_recomputed = false;       ///< whether the same pass ran before
  /// The values that layers keep of earlier tokens (token_cache.hpp). Null if the tokens of this
  /// pass are the first of their sequences and no further tokens will follow.
  token_cache const* cache = nullptr;
};

}  // namespace ashlar::nn
