// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Encodes a placement as one integer, for hash tables and for sorting. Different valid placements
// have different codes. Placements with the same number of axes are ordered by the code of their
// first axis, then by that of the second, and so on. The integer has these parts, beginning with
// the most significant bit:
//
//   one bit, always 1      marks where the code begins: placements with different numbers of axes
//                          have different codes
//   ten bits per axis      0 for B; 1 to 3 for P, depending on its reduction; from 4 on for S,
//                          depending on its dim and depth; larger numbers for O, depending on its
//                          owner

#include <cstdint>

#include <ashlar/placement/placement.hpp>

namespace ashlar {

constexpr std::uint64_t code_of(placement const& p) {
  constexpr int owners_from = 4 + max_rank * max_axes;
  static_assert(max_axes * 10 < 64 && owners_from + max_owners <= 1024);
  std::uint64_t code = 1;
  for (axis_placement const *a = p.axis.items, *end = a + p.axis.count; a != end; ++a)
    code = code << 10 | static_cast<std::uint64_t>(
                            a->kind == placement_kind::broadcast ? 0
                            : a->kind == placement_kind::split   ? 4 + a->dim * max_axes + a->depth
                            : a->kind == placement_kind::partial ? 1 + static_cast<int>(a->op)
                                                                 : owners_from + a->owner);
  return code;
}

}  // namespace ashlar
