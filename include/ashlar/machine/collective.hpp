// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the kinds of moves that redistribute a tensor, and the traffic of each.
//
// Traffic is the number of messages and elements that ONE rank receives with the bandwidth-optimal
// algorithm:
//
//   move             messages   elements received        the rank receives
//   all_gather       p - 1      to - from                the shards of all others
//   reduce_scatter   p - 1      (p - 1) to               the others' addends of its shard
//   all_reduce       2 (p - 1)  (p - 1) b + (from - b)   both of the above
//                    (1 if arrays_cross)
//   all_to_all       p - 1      to - kept                its part of the shards of all others
//   permute          1          to                       its partner's shard
//    not pairwise    p - 1      to - kept                parts of several shards
//   slice, zero_pad  0          0                        nothing
//
//   p          ranks in the group
//   from, to   elements that the rank holds before and after the move
//   kept       elements of its new shard that the rank already holds
//   b          the size of the rank's part in a balanced split of `from`
//
// A permute is pairwise if its two axes have the same extent (plan/redistribution_step.hpp).
//
// Multiplied by α and β, this traffic gives the costs in table 2 of AutoDDL. Two entries differ,
// because we count the messages and elements of the algorithm that runs:
//
// - For an all-reduce, table 2 has 2 p - 1 messages, but we count 2 (p - 1), or 1.
// - For an all-to-all of n elements per rank, table 2 counts all n, but we count n (p - 1) / p,
//   since a rank does not send its own part to itself.

#include <cstdint>

namespace ashlar {

enum class collective : signed char {
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  permute,
  slice,
  zero_pad,
  broadcast,  // sends from one rank to all; no plan contains it
  reduce      // reduces from all ranks to one; no plan contains it
};

constexpr char const* to_string(collective kind) {
  constexpr char const* names[] = {"all-gather", "reduce-scatter", "all-reduce",
                                   "all-to-all", "permute",        "slice",
                                   "zero-pad",   "broadcast",      "reduce"};
  return names[static_cast<int>(kind)];
}

constexpr bool communicates(collective kind) {
  return kind != collective::slice && kind != collective::zero_pad;
}

/// Returns whether the collective combines values of several ranks.
constexpr bool reduces(collective kind) {
  return kind == collective::reduce_scatter || kind == collective::all_reduce ||
         kind == collective::reduce;
}

/// Returns whether one rank of the group, the root, has another role than the other ranks.
constexpr bool is_rooted(collective kind) {
  return kind == collective::broadcast || kind == collective::reduce;
}

struct traffic {
  std::int64_t messages = 0;
  std::int64_t elements = 0;
  friend constexpr bool operator==(traffic const&, traffic const&) = default;
};

/// Returns whether an all-reduce of two ranks has only one step: the ranks send each other their
/// complete arrays, and both add all elements. This replaces a reduce-scatter and an all-gather. It
/// saves one message but doubles the additions, so it is used only for small arrays.
constexpr bool arrays_cross(int p, std::int64_t elements) {
  return p == 2 && elements <= 32 * 1024;
}

/// Returns the messages and elements that one of p ranks receives in a collective of a plan. Counts
/// one message for every permute, also for one that is not pairwise.
///   from, to   elements that the rank holds before and after
///   kept       elements of the rank's new shard that the rank already holds
///   index      the rank's position in the group, which determines its block in an all-reduce
constexpr traffic collective_traffic(collective kind, int p, std::int64_t from, std::int64_t to,
                                     std::int64_t kept, int index) {
  if (p <= 1) return {};
  switch (kind) {
    case collective::all_gather: return {p - 1, to - from};
    case collective::reduce_scatter: return {p - 1, (p - 1) * to};
    case collective::all_reduce: {
      std::int64_t const block = from / p + (index < from % p ? 1 : 0);
      return {arrays_cross(p, from) ? 1 : 2 * (p - 1), (p - 1) * block + (from - block)};
    }
    case collective::all_to_all: return {p - 1, to - kept};
    case collective::permute: return {1, to - kept};
    default: return {};
  }
}

}  // namespace ashlar
