// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a tensor lies along ONE mesh axis (SBP, after OneFlow and AutoDDL section 4.1):
//
//   split(d)    dimension d is divided among the ranks of the axis           text S(d)
//   broadcast   every rank of the axis holds the same values                 text B
//   partial     the true value is the sum (max, min) over the axis's ranks   text P, P(max), P(min)
//
// A partial of element type T is summed in accumulation_t<T> (float for bfloat16, else T) and rounded
// to T once, when it becomes whole: that type is part of what the partial means. Its addends are
// of type T, rounded already.
//
// `depth` orders the axes that split one dimension: 0 is outermost. It is part of the state: two
// axes on one dimension in another order put other rows on most ranks. What several axes mean
// together is decided in placement.hpp.

namespace ashlar {

enum class placement_kind : signed char { broadcast, split, partial };
enum class reduction : signed char { sum, max, min };

struct axis_placement {
  placement_kind kind = placement_kind::broadcast;
  signed char dim = 0;    // of a split
  signed char depth = 0;  // of a split: position among the axes that split the same dim
  reduction op = reduction::sum;

  constexpr bool is_split() const { return kind == placement_kind::split; }
  constexpr bool is_split_of(int d) const { return is_split() && dim == d; }
  constexpr bool is_broadcast() const { return kind == placement_kind::broadcast; }
  constexpr bool is_partial() const { return kind == placement_kind::partial; }

  friend constexpr bool operator==(axis_placement const& a, axis_placement const& b) {
    return a.kind == b.kind && a.dim == b.dim && a.depth == b.depth && a.op == b.op;
  }
};

/// A split of `dim`; a negative depth means "in canonical order" and is resolved by placement.
constexpr axis_placement split(int dim, int depth = -1) {
  return {placement_kind::split, static_cast<signed char>(dim), static_cast<signed char>(depth),
          reduction::sum};
}
constexpr axis_placement broadcast() { return {}; }
constexpr axis_placement partial(reduction op = reduction::sum) {
  return {placement_kind::partial, 0, 0, op};
}

/// The same role on the axis, shard order aside.
constexpr bool same_role(axis_placement const& a, axis_placement const& b) {
  return a.kind == b.kind && a.dim == b.dim && a.op == b.op;
}

}  // namespace ashlar
