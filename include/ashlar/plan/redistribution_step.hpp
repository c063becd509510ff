// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One step of a redistribution plan: a collective or a local operation along a list of mesh axes.
// This file defines which data moves and at what cost. tensor/ runs the step, and comm/ transfers
// the data. Here "an axis of a dim" is a mesh axis that splits the dim, and a "B axis" or a "P
// axis" is a mesh axis along which the tensor is broadcast or partial:
//
//   all_gather      the innermost axes of a dim become B
//   reduce_scatter  P axes become the innermost splits of a dim
//   all_reduce      P axes become B
//   all_to_all      the innermost axes of one dim become the innermost axes of another
//   permute         two axes of equal extent, or the innermost axes of two dims, exchange their
//                   placements; or the two innermost axes of one dim exchange their order
//   slice           a B axis becomes the innermost split of a dim: each rank keeps its part
//   zero_pad        the innermost axis of a dim, or a B axis, becomes P: for each element, one rank
//                   has the value, and the others have the identity of the reduction
//
// An owned axis, O(k), is a split whose cuts give everything to rank k. So the kinds above also
// move data to and from owners, along one axis at a time. Only the work of the busiest rank, which
// is the owner, differs:
//
//   from  to      kind             the owner
//   P     O(k)    reduce_scatter   receives the addends of all others
//   O(k)  B       all_gather       sends its shard to every other rank
//   S(d)  O(k)    all_to_all       receives the shards of all others
//   O(k)  S(d)    all_to_all       sends every other rank its shard
//   O(k)  O(j)    all_to_all       sends its shard to rank j, the next owner
//   B     O(k)    slice            keeps its shard; the others drop theirs
//   O(k)  P       zero_pad         keeps its shard as its addend; the others add the identity
//
// A reduce_scatter of sums and an all_gather may have a wire (wire.hpp), so that encoded blocks
// travel. In a reduce_scatter, the ranks then exchange the encoded addends all to all, and each
// rank decodes the addends of its part and sums them in the order of the ranks. The traffic of such
// a step counts bytes instead of elements.
//
// An all_reduce of sums with the wire power_sgd is two steps, each of which sums one factor of the
// matrix over the ranks. The first leaves the tensor partial; after the second it is B.

#include <algorithm>

#include <ashlar/layout/layout.hpp>
#include <ashlar/machine/link.hpp>
#include <ashlar/plan/wire.hpp>

namespace ashlar {

struct redistribution_step {
  collective kind = collective::slice;
  axis_list axes;  ///< outermost first
  placement from;
  placement to;
  wire_format wire{};

  /// Returns whether the step sums the first factor of a matrix on the wire power_sgd.
  constexpr bool sums_first_factor() const { return wire.is_factored() && from == to; }
  /// Returns the collective that the transport carries out. The transport does not sum encoded
  /// blocks, so it carries out an all_to_all in place of a reduce_scatter with them.
  constexpr collective carried_by() const {
    return wire.in_blocks() && kind == collective::reduce_scatter ? collective::all_to_all : kind;
  }
  /// Returns the bytes of one unit of the step's traffic. The unit is an element, or a byte if the
  /// step sends encoded blocks.
  constexpr int unit_bytes(int element_size) const { return wire.in_blocks() ? 1 : element_size; }

  friend constexpr bool operator==(redistribution_step const&,
                                   redistribution_step const&) = default;
};

/// Returns whether one permute can exchange the roles (B, P or S(dim)) of axes a and b.
/// `both_split` is true if each of the two axes is the innermost split of a dim. If it is false,
/// the extents of the axes must be equal, because ranks exchange whole shards.
constexpr bool exchange_roles(topology const& t, int a, int b, bool both_split) {
  return both_split || t.extent(a) == t.extent(b);
}

/// Returns whether a permute of two axes only exchanges data between pairs of ranks. This requires
/// axes of equal extent. With unequal extents, balanced splits along the two axes cut the tensor at
/// different places.
constexpr bool is_pairwise(axis_list const& axes, topology const& t) {
  return t.extent(axes[0]) == t.extent(axes[1]);
}
constexpr bool is_pairwise(redistribution_step const& s, topology const& t) {
  return is_pairwise(s.axes, t);
}

/// Returns the coordinates of the rank from which the rank at `c` receives its data in a pairwise
/// permute.
constexpr coordinates permute_partner(redistribution_step const& s, coordinates c) {
  auto const a = static_cast<std::size_t>(s.axes[0]);
  auto const b = static_cast<std::size_t>(s.axes[1]);
  int const swapped = c[a];
  c[a] = c[b];
  c[b] = swapped;
  return c;
}

/// Returns whether a step moves data to or from the owner along an axis.
constexpr bool changes_owner(redistribution_step const& s) {
  return s.from[s.axes[0]].is_owned() || s.to[s.axes[0]].is_owned();
}

/// The extents of the matrix in a rank's box, and the number `rank` of columns of its two factors
/// on the wire power_sgd: the first has rows × rank elements, the second columns × rank.
struct factor_extents {
  std::int64_t rows = 0, columns = 0, rank = 0;

  constexpr factor_extents() = default;
  constexpr factor_extents(box const& matrix, wire_format const& wire)
      : rows(matrix[0].size), columns(rows == 0 ? 0 : matrix.elements() / rows),
        rank(std::min({std::int64_t(wire.rank), rows, columns})) {}

  constexpr std::int64_t elements() const { return rows * columns; }
  constexpr std::int64_t first() const { return rows * rank; }
  constexpr std::int64_t second() const { return columns * rank; }
  /// Returns the elements of the factor that a step sums.
  constexpr std::int64_t summed_by(redistribution_step const& s) const {
    return s.sums_first_factor() ? first() : second();
  }
};

/// Returns the extents of the factors on the rank that has the largest part of a tensor at `p`.
constexpr factor_extents largest_factors(shape const& extents, topology const& t,
                                         placement const& p, wire_format const& wire) {
  return {local_box(extents, t, p, fullest_rank(p)), wire};
}

/// Returns the traffic that the rank at coordinates `c` receives in a step. It is exact unless the
/// tensor is routed.
constexpr traffic step_traffic(redistribution_step const& s, shape const& extents,
                               topology const& t, coordinates const& c) {
  box const from = local_box(extents, t, s.from, c);
  box const to = local_box(extents, t, s.to, c);
  int const p = t.group_size(s.axes);
  if (s.wire.is_factored()) {
    std::int64_t const n = factor_extents(from, s.wire).summed_by(s);
    return collective_traffic(collective::all_reduce, p, n, n, 0, t.index_in_group(c, s.axes));
  }
  if (!s.wire.is_exact()) {
    traffic load{p - 1, 0};
    for (int j = 0; j < p; ++j) {
      coordinates const member = t.member(c, s.axes, j);
      if (member == c) continue;
      box const sent = s.kind == collective::all_gather ? local_box(extents, t, s.from, member)
                                                        : to;
      load.elements += s.wire.bytes(sent.elements());
    }
    return load.elements == 0 ? traffic{} : load;
  }
  if (s.kind == collective::permute && is_pairwise(s, t)) {
    if (p == 1 || permute_partner(s, c) == c) return {};
    return {1, to.elements()};
  }
  std::int64_t const kept = intersect(from, to).elements();
  if (communicates(s.kind) && changes_owner(s)) {
    std::int64_t const given = s.kind == collective::reduce_scatter ? (p - 1) * to.elements()
                                                                    : to.elements() - kept;
    bool const from_one = s.from[s.axes[0]].is_owned();
    return given == 0 ? traffic{} : traffic{from_one ? 1 : p - 1, given};
  }
  traffic load = collective_traffic(s.kind, p, from.elements(), to.elements(), kept,
                                    t.index_in_group(c, s.axes));
  if (s.kind == collective::permute) load.messages = p - 1;
  return load;
}

/// The largest and the smallest shard of a tensor at a placement. The first rank has the largest
/// and the last rank has the smallest. Along an owned axis, where one rank has all values, only the
/// owner's shard counts. A routed tensor stores for each token only the rows of its experts
/// (layout/routing.hpp), so its shards can be of any size. The smallest shard is then counted as if
/// the routes were distributed evenly.
struct shard_range {
  box largest;
  box least;
};

constexpr shard_range shards_of(shape const& extents, topology const& t, placement const& p) {
  coordinates const first = fullest_rank(p);
  coordinates last = first;
  for (int a = 0; a < t.axes(); ++a)
    if (!p[a].is_owned()) last[static_cast<std::size_t>(a)] = t.extent(a) - 1;
  shard_range range{local_box(extents, t, p, first), local_box(extents, t, p, last)};
  range.least.fullest = evenly_full;
  return range;
}

/// The numbers of elements of the largest and the smallest shard of a tensor at a placement.
struct shard_elements {
  std::int64_t largest = 0;
  std::int64_t least = 0;
};

/// Returns the traffic (messages and elements) by which the cost model prices a step. No rank
/// receives more than this. If splits are even, this is the exact traffic of the ranks that receive
/// most. Otherwise it may be more than that of any rank: the price assumes that a rank needs as
/// many elements as the largest shard has, and already has only as many as the smallest shards
/// have.
///
///   group      the number of ranks that take part in one collective
///   pairwise   for a permute: whether each rank exchanges its whole shard with one other rank
///   from, to   the sizes of the shards before and after the step
///   kept       the number of elements that the smallest shards before and after have in common
///   uneven     whether the tensor is routed (layout/routing.hpp) and its routes are uneven. In an
///              all-to-all, a rank may then send more than any rank receives, so the larger of the
///              shards before and after the step counts as received
constexpr traffic priced_traffic(collective kind, int group, bool pairwise,
                                 shard_elements const& from, shard_elements to, std::int64_t kept,
                                 bool uneven) {
  switch (kind) {
    case collective::all_gather:
      return collective_traffic(kind, group, from.least, to.largest, 0, 0);
    case collective::all_to_all:
      if (uneven && from.largest > to.largest) to.largest = from.largest;
      return collective_traffic(kind, group, from.largest, to.largest, kept, 0);
    case collective::permute: {
      traffic load = collective_traffic(kind, group, from.largest, to.largest, 0, 0);
      if (!pairwise) load.messages = group - 1;
      return load;
    }
    case collective::reduce_scatter:
    case collective::all_reduce:
    case collective::slice:
    case collective::zero_pad:
    case collective::broadcast:
    case collective::reduce: return collective_traffic(kind, group, from.largest, to.largest, 0, 0);
  }
  return {};
}

/// Returns the traffic by which the cost model prices a step between p ranks to or from an owner.
/// The result is the traffic that the owner sends or receives, since the owner is the busiest rank.
/// `from` and `to` have the sizes of the shards before and after the step. Along an owned axis,
/// only the owner's shard counts. `hands_over` says that one owner hands the tensor to another
/// owner. If splits are uneven, the result may be more than the true traffic, but never less.
constexpr traffic owner_traffic(collective kind, int p, bool hands_over, shard_elements const& from,
                                shard_elements const& to) {
  if (p <= 1) return {};
  if (hands_over) return {1, to.largest};
  if (kind == collective::all_gather) return {p - 1, (p - 1) * from.largest};
  if (kind == collective::reduce_scatter) return {p - 1, (p - 1) * to.largest};
  return {p - 1, from.largest > to.largest ? from.largest - to.least : to.largest - from.least};
}

constexpr traffic priced_traffic(redistribution_step const& s, topology const& t,
                                 shard_range const& from, shard_range const& to) {
  if (s.wire.is_factored()) {
    std::int64_t const n = factor_extents(from.largest, s.wire).summed_by(s);
    return priced_traffic(s.kind, t.group_size(s.axes), false, {n, n}, {n, n}, 0, false);
  }
  if (!s.wire.is_exact()) {
    std::int64_t const others = t.group_size(s.axes) - 1;
    auto const& sent = s.kind == collective::all_gather ? from : to;
    return {others, others * s.wire.bytes(sent.largest.elements())};
  }
  if (communicates(s.kind) && changes_owner(s))
    return owner_traffic(s.kind, t.group_size(s.axes),
                         s.from[s.axes[0]].is_owned() && s.to[s.axes[0]].is_owned(),
                         {from.largest.elements(), from.least.elements()},
                         {to.largest.elements(), to.least.elements()});
  return priced_traffic(
      s.kind, t.group_size(s.axes), s.kind != collective::permute || is_pairwise(s, t),
      {from.largest.elements(), from.least.elements()},
      {to.largest.elements(), to.least.elements()}, intersect(from.least, to.least).elements(),
      from.largest.fullest != evenly_full);
}

/// The seconds in which a rank encodes the blocks of a step, before the transfer, and decodes them
/// after it.
struct coding_time {
  double before = 0, after = 0;
  constexpr double sum() const { return before + after; }
};

/// Returns the seconds in which a rank encodes and decodes the blocks of a step; 0 if the step has
/// no wire. The seconds follow from the bytes of memory that the kernels read and write, and for
/// power_sgd also from the operations of the products.
///
///   reduce_scatter   encodes the shard before the step, and decodes p blocks of the size of the
///                    shard after the step, where p is the number of ranks
///   all_gather       encodes the shard before the step, and decodes the shard after the step
///   power_sgd        multiplies its matrix by a factor before each step. After the first step, it
///                    makes the columns of the factor orthonormal. After the second, it multiplies
///                    the two factors, and does so twice with error feedback.
constexpr coding_time coding_seconds(redistribution_step const& s, shape const& extents,
                                     topology const& t, machine const& m) {
  if (s.wire.is_exact()) return {};
  if (s.wire.is_factored()) {
    auto const f = largest_factors(extents, t, s.from, s.wire);
    double const product = 2 * double(f.elements()) * double(f.rank) / m.flops;
    double const pass = 4 * double(f.elements()) / m.memory_bandwidth;
    double const turns = 4 * double(f.first()) * double(f.rank) / m.flops;
    bool const first = s.sums_first_factor(), keeps = s.wire.feedback;
    // With momentum, the first step also averages gradients, in five passes over their memory
    // (nn/errors_of_moves.hpp).
    double const passes = (keeps ? 4 : 1) + (s.wire.momentum ? 5 : 0);
    if (first) return {product + passes * pass, turns};
    return {product + pass, (keeps ? 2 : 1) * (product + 2 * pass) + (keeps ? 2 * pass : 0)};
  }
  std::int64_t const encoded = max_local_elements(extents, t, s.from);
  bool const gathers = s.kind == collective::all_gather;
  std::int64_t const decoded = max_local_elements(extents, t, s.to) *
                               (gathers ? 1 : t.group_size(s.axes));
  // A wire with momentum first averages the addends, which reads or writes five floats for each.
  // After the all_gather, it makes new averages from the whole sum, which reads or writes three
  // floats for each element (nn/errors_of_moves.hpp).
  double const averaging = s.wire.momentum && !gathers ? 20 : 0;
  double const sharing = s.wire.momentum && gathers ? 12 : 0;
  return {(s.wire.encoding_cost() + averaging) * double(encoded) / m.memory_bandwidth,
          (s.wire.decoding_cost() + sharing) * double(decoded) / m.memory_bandwidth};
}

/// Returns the seconds in which the links carry a step between shards of these sizes.
constexpr double link_seconds(redistribution_step const& s, int element_size, topology const& t,
                              machine const& m, shard_range const& before,
                              shard_range const& after) {
  return seconds(m, t, s.axes, s.carried_by(), priced_traffic(s, t, before, after),
                 s.unit_bytes(element_size));
}

/// Returns the seconds in which the links carry a step of a tensor with these extents.
constexpr double link_seconds(redistribution_step const& s, shape const& extents, int element_size,
                              topology const& t, machine const& m) {
  return link_seconds(s, element_size, t, m, shards_of(extents, t, s.from),
                      shards_of(extents, t, s.to));
}

/// Returns the seconds of a step on a tensor with these extents: those of the links, and those of
/// encoding and decoding. `before` and `after` are the sizes of the shards around the step.
constexpr double step_seconds(redistribution_step const& s, shape const& extents, int element_size,
                              topology const& t, machine const& m, shard_range const& before,
                              shard_range const& after) {
  double const moving = link_seconds(s, element_size, t, m, before, after);
  return s.wire.is_exact() ? moving : moving + coding_seconds(s, extents, t, m).sum();
}

/// Returns the seconds of a step on a tensor with these extents: those of the links, and those of
/// encoding and decoding.
constexpr double step_seconds(redistribution_step const& s, shape const& extents, int element_size,
                              topology const& t, machine const& m) {
  return step_seconds(s, extents, element_size, t, m, shards_of(extents, t, s.from),
                      shards_of(extents, t, s.to));
}

}  // namespace ashlar
