// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The order in which a reduction combines the addends of the members of a group. Floating-point
// sums depend on it: another order rounds differently.
//
// Let s[i] be the addend of member i, and let part j of the result be the part that member j
// reduces. Indices are modulo the number of members.
//
//   around_ring   part j is ((s[j+1] + s[j+2]) + …) + s[j], the order in which a ring visits the
//                 addends. An element's sum depends on the member that reduces it, and so on how
//                 the array is divided into parts.
//   by_rank       every part is ((s[0] + s[1]) + …). An element's sum depends on its addends only.
//                 An all-reduce, a reduce-scatter and a reduce to one member give the same bits.

namespace ashlar {

enum class sum_order : signed char { around_ring, by_rank };

/// Returns the member whose addend is number `i` in the sum of the part that member `owner`
/// reduces.
constexpr int addend_at(sum_order order, int i, int owner, int members) {
  return order == sum_order::by_rank ? i : (owner + 1 + i) % members;
}

}  // namespace ashlar
