// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes how a tensor is distributed along ONE mesh axis. The first three kinds are known as
// SBP, from OneFlow and from section 4.1 of the AutoDDL paper:
//
//   split(d)    dim d is divided among the ranks of the axis                text S(d)
//   broadcast   every rank of the axis holds the same values                text B
//   partial     the true value is the sum (max, min) over the axis's ranks   text P, P(max), P(min)
//   owned(k)    rank k of the axis holds the values, its other ranks nothing  text O(k)
//
// An owned tensor is like the parameters on a parameter server: it can be redistributed, but no
// operator computes with it. The result of a redistribution is owned on an axis only if the program
// asks for a placement that is owned on this axis.
//
// In a partial tensor of element type T, each rank holds addends that are already rounded to T.
// The addends are summed in accumulation_t<T> (float for bfloat16, else T), and the sum is rounded
// to T once. This accumulation type is part of the meaning of a partial placement.
//
// `depth` orders the mesh axes that split the same dim: 0 is outermost. Two placements that differ
// only in this order give most ranks different shards, so depth is part of the placement.
// placement.hpp defines what the placements of several axes mean together.

namespace ashlar {

enum class placement_kind : signed char { broadcast, split, partial, owned };
enum class reduction : signed char { sum, max, min };

struct axis_placement {
  placement_kind kind = placement_kind::broadcast;
  signed char dim = 0;    // the tensor dim that a split divides
  signed char depth = 0;  // of a split: its position among the axes that split the same dim
  reduction op = reduction::sum;
  short owner = 0;  // of an owned placement: the rank along the axis that holds the values

  constexpr bool is_split() const { return kind == placement_kind::split; }
  constexpr bool is_split_of(int d) const { return is_split() && dim == d; }
  constexpr bool is_broadcast() const { return kind == placement_kind::broadcast; }
  constexpr bool is_partial() const { return kind == placement_kind::partial; }
  constexpr bool is_owned() const { return kind == placement_kind::owned; }

  friend constexpr bool operator==(axis_placement const& a, axis_placement const& b) {
    return a.kind == b.kind && a.dim == b.dim && a.depth == b.depth && a.op == b.op &&
           a.owner == b.owner;
  }
};

/// Returns a split of `dim`. A negative depth stands for the order of the mesh axes; the
/// constructor of `placement` replaces it.
constexpr axis_placement split(int dim, int depth = -1) {
  return {placement_kind::split, static_cast<signed char>(dim), static_cast<signed char>(depth),
          reduction::sum, 0};
}
constexpr axis_placement broadcast() { return {}; }
constexpr axis_placement partial(reduction op = reduction::sum) {
  return {placement_kind::partial, 0, 0, op, 0};
}
/// Returns the placement in which the rank with coordinate `owner` along the axis has all values.
constexpr axis_placement owned(int owner) {
  return {placement_kind::owned, 0, 0, reduction::sum, static_cast<short>(owner)};
}

/// Only the first 512 ranks along an axis can be owners. This limit keeps the integer code of a
/// placement (placement/code.hpp) within ten bits per axis.
inline constexpr int max_owners = 512;

/// Returns whether two placements on an axis are equal, apart from their shard order (`depth`).
constexpr bool same_role(axis_placement const& a, axis_placement const& b) {
  return a.kind == b.kind && a.dim == b.dim && a.op == b.op && a.owner == b.owner;
}

}  // namespace ashlar
