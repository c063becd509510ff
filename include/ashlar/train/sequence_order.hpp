// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The order of the sequences of an epoch: a random permutation of 0 .. n-1 that depends only on the
// seed and the epoch. Each entry is computed on its own, so no rank stores the permutation, and a
// training can resume at any step. An entry is the result of a Feistel network, which permutes the
// numbers below a power of 4 that is at least n. The network's round function is the Philox
// generator (device/philox.hpp). A result of n or more goes through the network again, until it is
// below n (cycle walking).

#include <cstdint>

#include <ashlar/device/philox.hpp>

namespace ashlar::train {

/// Returns entry `index` of the permutation of 0 .. n-1. Expects 0 <= index < n.
constexpr std::int64_t shuffled(std::uint64_t seed, std::int64_t epoch, std::int64_t index,
                                std::int64_t n) {
  int half = 1;
  while (half < 31 && (std::int64_t{1} << 2 * half) < n) ++half;
  std::uint64_t const mask = (std::uint64_t{1} << half) - 1;
  auto at = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = at >> half, right = at & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      // The random streams from 1 << 63 on are separate from those for initial parameters and
      // dropout.
      auto const word = device::random_block(
                            seed, std::uint64_t{1} << 63 | static_cast<std::uint64_t>(epoch),
                            round << half | right)
                            .word[0];
      auto const next = left ^ (word & mask);
      left = right;
      right = next;
    }
    at = left << half | right;
  } while (at >= static_cast<std::uint64_t>(n));
  return static_cast<std::int64_t>(at);
}

}  // namespace ashlar::train
