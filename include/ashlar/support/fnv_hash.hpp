// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Hashes of plans, problems and machines, number by number, also at compile time. Each number is
// added as FNV-1a adds a byte, but the first hash is not that of FNV-1a. Files contain such hashes,
// so these functions must not change. For arrays, content_hash.hpp is faster.

#include <cstdint>

namespace ashlar {

/// The hash of nothing.
inline constexpr std::uint64_t empty_fnv = 1469598103934665603ull;

/// Returns the hash of a sequence that ends with `value`. `h` is the hash of all before `value`.
constexpr std::uint64_t fnv_with(std::uint64_t h, std::uint64_t value) {
  return (h ^ value) * 1099511628211ull;
}

/// Returns the hash of a sequence that ends with the 8 bytes of `value`, the lowest one first. `h`
/// is the hash of all before these bytes.
constexpr std::uint64_t fnv_with_bytes(std::uint64_t h, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) h = fnv_with(h, (value >> (8 * i)) & 0xff);
  return h;
}

}  // namespace ashlar
