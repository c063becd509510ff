// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The rule of dropout with probability p, shared by the host's loops and the device's kernels, so
// that host and device drop the same elements. Each element x has a random 32-bit word:
//
//   word >= p 2^32   the element is kept, and its new value is x / (1 - p)
//   otherwise        the element is dropped, and its new value is 0
//
// Comparing the word itself saves a conversion of the word to a uniform number in [0, 1).

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include <ashlar/config.hpp>

namespace ashlar::device {

template <class T>
struct dropout_rule {
  std::uint32_t least = 0;  // the least word for which an element is kept
  bool drops_all = false;   // p is so close to 1 that no 32-bit word is at least p 2^32
  T scale = T(1);

  /// Throws std::invalid_argument if the probability `p` of dropping is not in [0, 1).
  explicit dropout_rule(double p) {
    if (!(p >= 0.0 && p < 1.0)) {
      throw std::invalid_argument(
          "dropout: the probability is not in [0, 1). Pass 0 to keep all elements.");
    }
    auto const threshold = static_cast<std::uint64_t>(std::ceil(p * 0x1p32));
    drops_all = threshold > 0xffffffffu;
    least = static_cast<std::uint32_t>(threshold);
    scale = static_cast<T>(1.0 / (1.0 - p));
  }

  /// Returns the new value of element x. Requires that `drops_all` is false.
  [[gnu::always_inline]] ASHLAR_HD T operator()(T x, std::uint32_t word) const {
    T const kept = x * scale;
    return word >= least ? kept : T(0);
  }
};

}  // namespace ashlar::device
