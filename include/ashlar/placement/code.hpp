// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A placement as one number: for hash tables. Different placements have different codes.
//
//   per axis, the first lowest   kind 2 bits, dim 3, depth 3, reduction 2; a 1 above the last axis

#include <cstdint>

#include <ashlar/placement/placement.hpp>

namespace ashlar {

constexpr std::uint64_t code_of(placement const& p) {
  static_assert(max_axes * 10 < 64 && max_rank <= 8 && max_axes <= 8);
  std::uint64_t code = 1;
  for (int a = p.axes() - 1; a >= 0; --a) {
    auto const& role = p[a];
    code = code << 10 | static_cast<std::uint64_t>(role.kind) | std::uint64_t(role.dim) << 2 |
           std::uint64_t(role.depth) << 5 | static_cast<std::uint64_t>(role.op) << 8;
  }
  return code;
}

}  // namespace ashlar
