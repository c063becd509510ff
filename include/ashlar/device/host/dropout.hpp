// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Dropout with probability p, 0 <= p < 1, of elements with consecutive global indices:
//
//   y = x / (1 - p)   if uniform<double>(seed, stream, index) >= p, with probability 1 - p
//   y = 0             otherwise
//
// Which elements are dropped depends only on (seed, stream, global index), where stream is the
// number of a random sequence. So every mesh drops the same elements, and the backward pass
// recomputes the mask instead of storing it. A shard with several dims may consist of several runs
// of consecutive global indices. In this case, the caller must call these functions once for each
// run. The caller must use a new stream for each application of dropout.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/dropout.hpp>
#include <ashlar/device/host/random.hpp>

namespace ashlar::device::host {

/// Computes y = dropout of x with probability p, for `count` elements. Element i has the global
/// index first + i. y may be x.
template <class T>
void dropout_forward(T const* x, std::int64_t count, double p, std::uint64_t seed,
                     std::uint64_t stream, std::int64_t first, T* y) {
  dropout_rule<T> const rule(p);
  if (rule.drops_all) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = T(0);
    return;
  }
  for_each_word_run(seed, stream, first, count,
                    [=](std::uint32_t const* words, std::int64_t offset, std::int64_t n) {
                      T const* const source = x + offset;
                      T* const target = y + offset;
                      ASHLAR_VECTORIZE
                      for (std::int64_t i = 0; i < n; ++i) target[i] = rule(source[i], words[i]);
                    });
}

/// Computes dx from dy. dx is dy / (1 - p) for an element that the forward pass kept, and 0 for an
/// element that the forward pass dropped. `p`, `seed`, `stream` and `first` must be the same as in
/// the forward pass. dx may be dy.
template <class T>
void dropout_backward(T const* dy, std::int64_t count, double p, std::uint64_t seed,
                      std::uint64_t stream, std::int64_t first, T* dx) {
  dropout_forward(dy, count, p, seed, stream, first, dx);
}

}  // namespace ashlar::device::host
