// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computes the extents of the tensors that bench/redistribute and bench/micro redistribute, so that
// both programs measure the same step on the same tensor.

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <ashlar/layout/shape.hpp>

namespace ashlar_bench {

/// Returns the extents of a tensor of double with `rank` dimensions and `bytes` bytes. The extents
/// are powers of two, and neighbouring ones differ by a factor of 2 at most. Throws if `bytes` is
/// not a power of two or is below 4096.
inline ashlar::shape extents_of(int rank, std::int64_t bytes) {
  auto const elements = static_cast<std::uint64_t>(bytes) / sizeof(double);
  if (bytes % 8 != 0 || !std::has_single_bit(elements) || elements < 512)
    throw std::runtime_error("sizes are powers of two from 4096 bytes on, not " +
                             std::to_string(bytes) + ".");
  int const bits = std::countr_zero(elements);
  ashlar::shape s;
  for (int d = 0, rest = bits; d < rank; ++d) {
    int const mine = (rest + rank - d - 1) / (rank - d);
    s.extent.push_back(std::int64_t{1} << mine);
    rest -= mine;
  }
  return s;
}

}  // namespace ashlar_bench
