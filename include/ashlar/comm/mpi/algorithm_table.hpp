// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which algorithm carries a transfer that goes as messages. The rule is a table; of the rows that
// match and whose algorithm may carry the transfer, the last one counts; where none does: pairwise.
//
//   may carry     all-gather           reduce-scatter, all-reduce              the others
//   pairwise      always               always                                  always
//   ring          always               not bfloat16                            never
//   library       blocks are runs      integers; float and double: a sum of    never
//                 of memory            two members; never bfloat16
//
// Sums have one order (comm/transfer.hpp), which pairs and rings keep, so the bits do not depend on
// the table. A ring would round a bfloat16 at every hop. The library's order is its own: it is asked
// only where order cannot matter; the maximum of floats is no such case (NaN, sign of zero).
//
// Every entry of `exchange_facts` is the same on all members, so that all of them choose alike.
// The table of a mesh: algorithm_file.hpp. It is made by bench/tune_collectives.

#include <climits>
#include <cstdint>
#include <iterator>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar::mpi {

enum class algorithm : signed char { pairwise, ring, library };
inline constexpr algorithm all_algorithms[] = {algorithm::pairwise, algorithm::ring,
                                               algorithm::library};

/// How a group lies on the nodes of the mesh.
enum class spread : signed char {
  any,              ///< in a row of the table: wherever
  one_node,         ///< all members on one
  one_per_node,     ///< or several in turns: neighbours in the group are never on one node
  several_per_node  ///< one node's behind each other: a ring crosses each node's link once
};

inline constexpr spread all_spreads[] = {spread::any, spread::one_node, spread::one_per_node,
                                         spread::several_per_node};

/// The collectives that more than one algorithm can carry.
inline constexpr collective tunable_collectives[] = {
    collective::all_gather, collective::reduce_scatter, collective::all_reduce};

/// The name of an algorithm in a file of algorithms (algorithm_file.hpp).
constexpr char const* to_string(algorithm a) {
  constexpr char const* names[] = {"pairwise", "ring", "library"};
  static_assert(std::size(names) == std::size(all_algorithms), "every algorithm has a name");
  return names[static_cast<int>(a)];
}
constexpr char const* to_string(spread s) {
  constexpr char const* names[] = {"any", "one-node", "one-per-node", "several-per-node"};
  static_assert(std::size(names) == std::size(all_spreads), "every spread has a name");
  return names[static_cast<int>(s)];
}

struct algorithm_row {
  collective kind = collective::all_gather;
  int least_members = 2;
  std::int64_t least_bytes = 0;  ///< of the whole array: before a reduction, after a gather
  spread where = spread::any;
  algorithm use = algorithm::pairwise;
  friend constexpr bool operator==(algorithm_row const&, algorithm_row const&) = default;
};

using algorithm_table = inplace_vector<algorithm_row, 256>;

/// Within a node, and between nodes with one member each, pairs are ahead of rings or equal: their
/// messages travel at once, a ring's one after the other (measured with Open MPI). Where all of a
/// node's ranks share its link a ring crosses it once, pairs for every member elsewhere: worth more
/// than the latencies of p - 1 hops from some size on (tests/smpi/collectives.cpp).
constexpr algorithm_table make_default_algorithms() {
  struct {
    int least_members;
    std::int64_t least_bytes;
  } constexpr rings[] = {{3, 1 << 20}, {32, 1 << 21}, {128, 1 << 23}};
  algorithm_table table;
  for (auto const kind : tunable_collectives)
    for (auto const& from : rings) {
      auto const where = spread::several_per_node;
      table.push_back({kind, from.least_members, 0, where, algorithm::pairwise});
      table.push_back({kind, from.least_members, from.least_bytes, where, algorithm::ring});
    }
  return table;
}
inline constexpr algorithm_table default_algorithms = make_default_algorithms();

struct exchange_facts {
  collective kind = collective::all_gather;
  element_type type = element_type::f32;
  reduction op = reduction::sum;
  int members = 1;
  std::int64_t bytes = 0;
  spread where = spread::one_node;
  bool in_runs = false;  ///< the library can take the blocks where they are

  constexpr bool reduces() const { return kind != collective::all_gather; }
};

/// Whether the library's call can take the blocks of a transfer as they lie. All members see the
/// same: the whole array of an all-gather has the same box everywhere, and so have the addends of a
/// reduction; they are what the blocks are runs of.
inline bool lies_in_runs(transfer const& x) {
  std::int64_t elements = 0;
  if (x.kind == collective::all_gather) {
    for (auto const& b : x.receives) {
      if (!b.target_is_run) return false;
      elements += b.elements;
    }
  } else {
    for (auto const& b : x.sends) {  // and one behind the other
      if (b.elements > 0 && (!b.source_is_run || b.source_offset != elements)) return false;
      elements += b.elements;
    }
  }
  return elements <= INT_MAX;
}

/// Whether more than one algorithm can carry this collective.
constexpr bool has_algorithms(collective kind) {
  for (auto const tunable : tunable_collectives)
    if (kind == tunable) return true;
  return false;
}

/// Whether every order of reducing gives the same bits (device/host/combine.hpp).
constexpr bool order_is_free(element_type type, reduction op, int members) {
  return type == element_type::i32 || type == element_type::i64 ||
         (members <= 2 && op == reduction::sum);
}

/// Whether this algorithm can carry the exchange with the bits that all others give.
constexpr bool may_carry(algorithm a, exchange_facts const& x) {
  if (a == algorithm::pairwise) return true;
  if (!has_algorithms(x.kind)) return false;
  if (x.reduces() && x.type == element_type::bf16) return false;
  if (a == algorithm::ring) return true;
  return x.in_runs && (!x.reduces() || order_is_free(x.type, x.op, x.members));
}

/// Whether a row of the table is for this exchange.
constexpr bool matches(algorithm_row const& row, exchange_facts const& x) {
  return row.kind == x.kind && row.least_members <= x.members && row.least_bytes <= x.bytes &&
         (row.where == spread::any || row.where == x.where);
}

/// That of the last row that is for the exchange and may carry it; pairwise without one.
constexpr algorithm choose(algorithm_table const& table, exchange_facts const& x) {
  for (int i = table.size() - 1; i >= 0; --i)
    if (matches(table[i], x) && may_carry(table[i].use, x)) return table[i].use;
  return algorithm::pairwise;
}

/// How the groups along `axes` lie on the nodes, by the tiers of the axes.
constexpr spread spread_of(topology const& t, axis_list const& axes) {
  bool leaves_node = false, several = false, in_order = true;
  for (int i = 0; i < axes.size(); ++i) {
    auto const& a = t.axis[axes[i]];
    if (a.extent == 1) continue;
    if (a.tier == link_tier::intra_node) {
      several = true;
    } else {
      leaves_node = true;
      in_order = in_order && !several;  // axes of nodes come first in the group's order
    }
  }
  if (!leaves_node) return spread::one_node;
  return several && in_order ? spread::several_per_node : spread::one_per_node;
}

/// The algorithm for a transfer. `where` is that of its group.
inline algorithm choose(algorithm_table const& table, transfer const& x, element_type type,
                        spread where) {
  if (table.empty() || !has_algorithms(x.kind)) return algorithm::pairwise;
  box const& whole = x.reduces() ? x.from : x.to;
  exchange_facts const facts{
      x.kind, type, x.op, x.members, whole.elements() * size_of(type), where, lies_in_runs(x)};
  return choose(table, facts);
}

}  // namespace ashlar::mpi
