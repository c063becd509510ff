// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The moves that redistribute a tensor, and the traffic each of them makes.
//
// Traffic is what ONE rank receives with the bandwidth-optimal algorithm, in messages and elements
// (p ranks in the group, `from` and `to` the rank's elements before and after, `kept` those of
// `to` that it holds already):
//
//   move            messages   elements received            the rank's view
//   all_gather      p - 1      to - from                    every shard of the others
//   reduce_scatter  p - 1      (p - 1) to                   the others' addends of its shard
//   all_reduce      2 (p - 1)  (p - 1) b + (from - b)       both of the above; b: its block of from;
//                                                           1 message if the arrays cross (below)
//   all_to_all      p - 1      to - kept
//   permute         1          to                           between pairs of ranks; p - 1 messages and
//                                                           to - kept where shards do not map one to
//                                                           one (plan/redistribution_step.hpp tells which)
//   slice, zero_pad 0          0                            local
//
// Multiplied with α and β this is table 2 of AutoDDL with two differences, both of them counts of
// what the named algorithms do: an all-reduce takes 2 (p - 1) messages, or 1, where the table says
// 2 p - 1, and an all-to-all does not send a rank its own part: n (p - 1) / p where the table says n.

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
  broadcast,  // values of one rank to all, and all ranks' to one: no plan has them
  reduce
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

struct traffic {
  std::int64_t messages = 0;
  std::int64_t elements = 0;
  friend constexpr bool operator==(traffic const&, traffic const&) = default;
};

/// Whether the whole arrays of an all-reduce cross, and each rank reduces all: between two ranks, while
/// a message less is worth more than half of the additions.
constexpr bool arrays_cross(int p, std::int64_t elements) {
  return p == 2 && elements <= 32 * 1024;
}

/// The table above. `index` is the rank's position in its group (its block of an all-reduce).
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
