// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Chooses the algorithm for a transfer that is sent as messages, from a table. A row of the table
// has conditions and an algorithm. A row applies if the transfer meets the row's conditions and the
// row's algorithm may carry the transfer. The last row that applies determines the algorithm. If no
// row applies, the algorithm is pairwise.
//
//   may carry     all-gather            reduce-scatter, all-reduce             other collectives
//   pairwise      always                always                                 always
//   ring          always                the order around_ring, not bfloat16    never
//   library       contiguous blocks     contiguous blocks of integers, or      never
//                                       of float or double for a sum of two
//                                       members; never bfloat16
//
// Results do not depend on the table, bit for bit. Every reduction has one defined order
// (comm/sum_order.hpp). The pairwise exchange can follow every order, and the ring only the order
// around_ring. A ring would round a sum of bfloat16 in every step, so no ring reduces bfloat16. The
// MPI library reduces in an order of its choice, so the library is used only if the order does not
// matter. For maxima of floats the order can matter (NaN, sign of zero).
//
// All members of a group compute equal `exchange_facts`, so they choose the same algorithm. A mesh
// uses the table in a file that the user names, or else the default table (algorithm_file.hpp).
// bench/tune_collectives writes such a file.

#include <climits>
#include <cstdint>
#include <iterator>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar::mpi {

enum class algorithm : signed char { pairwise, ring, library };
inline constexpr algorithm all_algorithms[] = {algorithm::pairwise, algorithm::ring,
                                               algorithm::library};

/// How the members of a group are distributed over the nodes of the mesh.
enum class spread : signed char {
  any,              ///< only in a row of the table: matches every group
  one_node,         ///< all members are on one node
  one_per_node,     ///< adjacent members are on different nodes
  several_per_node  ///< each node has several members, and these are adjacent
};

inline constexpr spread all_spreads[] = {spread::any, spread::one_node, spread::one_per_node,
                                         spread::several_per_node};

/// The collectives for which there is a choice of algorithms.
inline constexpr collective tunable_collectives[] = {
    collective::all_gather, collective::reduce_scatter, collective::all_reduce};

/// Returns the name of an algorithm in a file of algorithms (algorithm_file.hpp).
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
  std::int64_t least_bytes = 0;  ///< bytes of the array before a reduction or after a gather
  spread where = spread::any;
  algorithm use = algorithm::pairwise;
  friend constexpr bool operator==(algorithm_row const&, algorithm_row const&) = default;
};

using algorithm_table = inplace_vector<algorithm_row, 256>;

/// Returns the default table. The table uses rings only in groups that have several adjacent
/// members on each node. These members share the node's link. In an all-gather by a ring, each
/// block leaves its node once; in the pairwise exchange, once for every member on another node. For
/// large arrays, the smaller traffic outweighs the latency of the ring's steps, of which there is
/// one for each other member (tests/smpi/collectives.cpp). In other groups, the pairwise exchange
/// is at least as fast (measured with Open MPI), because its messages travel at the same time.
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
  bool in_runs = false;  ///< whether MPI can access the blocks without copies (lies_in_runs)
  sum_order sums = sum_order::around_ring;

  constexpr bool reduces() const { return kind != collective::all_gather; }
};

/// Returns whether the MPI library can access the blocks of a transfer without copies. For that,
/// the blocks must be contiguous in the target of an all-gather or in the source of a reduction,
/// and have at most INT_MAX elements together. All members get the same result, because that target
/// or source has the same box on every member.
inline bool lies_in_runs(transfer const& x) {
  std::int64_t elements = 0;
  if (x.kind == collective::all_gather) {
    for (auto const& b : x.receives) {
      if (!b.target_is_run) return false;
      elements += b.elements;
    }
  } else {
    // Checks whether the blocks are contiguous and directly follow each other.
    for (auto const& b : x.sends) {
      if (b.elements > 0 && (!b.source_is_run || b.source_offset != elements)) return false;
      elements += b.elements;
    }
  }
  return elements <= INT_MAX;
}

/// Returns whether more than one algorithm can carry this collective.
constexpr bool has_algorithms(collective kind) {
  for (auto const tunable : tunable_collectives)
    if (kind == tunable) return true;
  return false;
}

/// Returns whether the result of a reduction has the same bits with every order of the addends
/// (device/host/combine.hpp).
constexpr bool order_is_free(element_type type, reduction op, int members) {
  return type == element_type::i32 || type == element_type::i64 ||
         (members <= 2 && op == reduction::sum);
}

/// Returns whether algorithm `a` can carry a transfer with these properties and gives the same bits
/// as the other algorithms.
constexpr bool may_carry(algorithm a, exchange_facts const& x) {
  if (a == algorithm::pairwise) return true;
  if (!has_algorithms(x.kind)) return false;
  if (x.reduces() && x.type == element_type::bf16) return false;
  if (a == algorithm::ring) return !x.reduces() || x.sums == sum_order::around_ring;
  return x.in_runs && (!x.reduces() || order_is_free(x.type, x.op, x.members));
}

/// Returns whether a row of the table applies to a transfer with these properties.
constexpr bool matches(algorithm_row const& row, exchange_facts const& x) {
  return row.kind == x.kind && row.least_members <= x.members && row.least_bytes <= x.bytes &&
         (row.where == spread::any || row.where == x.where);
}

/// Returns the algorithm of the last row that applies to a transfer with these properties and whose
/// algorithm may carry it. Returns pairwise if there is no such row.
constexpr algorithm choose(algorithm_table const& table, exchange_facts const& x) {
  for (int i = table.size() - 1; i >= 0; --i)
    if (matches(table[i], x) && may_carry(table[i].use, x)) return table[i].use;
  return algorithm::pairwise;
}

/// Returns how the members of the groups along `axes` are distributed over the nodes.
constexpr spread spread_of(topology const& t, axis_list const& axes) {
  bool leaves_node = false, several = false, in_order = true;
  for (int i = 0; i < axes.size(); ++i) {
    auto const& a = t.axis[axes[i]];
    if (a.extent == 1) continue;
    if (a.tier == link_tier::intra_node) {
      several = true;
    } else {
      leaves_node = true;
      in_order = in_order && !several;  // whether axes between nodes come first
    }
  }
  if (!leaves_node) return spread::one_node;
  return several && in_order ? spread::several_per_node : spread::one_per_node;
}

/// Returns the algorithm for a transfer. `where` is the distribution of its group over the nodes.
inline algorithm choose(algorithm_table const& table, transfer const& x, element_type type,
                        spread where) {
  if (table.empty() || !has_algorithms(x.kind)) return algorithm::pairwise;
  box const& whole = x.reduces() ? x.from : x.to;
  exchange_facts const facts{
      x.kind,          type,  x.op, x.members, whole.elements() * size_of(type), where,
      lies_in_runs(x), x.sums};
  return choose(table, facts);
}

}  // namespace ashlar::mpi
