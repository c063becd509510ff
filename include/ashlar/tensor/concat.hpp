// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Joins tensors along one dim. All operands must have the same placement, and the result has this
// placement too. So partial operands give a partial result. A concatenation copies data within each
// rank, but moves nothing between ranks. If a rank would need elements of another rank, concat
// throws an error. The error names the redistribution that the program must run first.
//
//   concat<0>(x, y, z)     concat<1>(std::vector of tensors)
//
// If no axis splits the joined dim, concat never needs communication. If an axis splits it,
// concatenates_locally (layout/slice.hpp) decides whether communication would be needed.

#include <array>
#include <vector>

#include <ashlar/layout/slice.hpp>
#include <ashlar/plan/nearest.hpp>
#include <ashlar/tensor/local_rule.hpp>
#include <ashlar/tensor/region.hpp>

namespace ashlar {
namespace detail {

/// Returns the extents of the concatenation of `parts`. Throws if the operands do not match or if
/// elements would have to move between ranks.
template <distributed X>
shape check_concat(std::span<X const> parts, int dim) {
  if (parts.empty()) throw error("concat", "no tensors were given.");
  X const& first = parts[0];
  refuse_owned_or_routed("concat", first.extents(), first.placement());
  auto const& m = first.mesh();
  shape extents = first.extents();
  std::vector<std::int64_t> sizes;
  std::int64_t total = 0;
  auto const what = [&] {
    std::string text = "along dim " + std::to_string(dim);
    for (X const& x : parts) text += (&x == parts.data() ? ": " : ", ") + describe(x);
    return text;
  };
  for (X const& x : parts) {
    same_mesh("concat", first, x);
    sizes.push_back(x.extents()[dim]);
    total += sizes.back();
  }
  for (X const& x : parts) {
    extents[dim] = x.extents()[dim];
    if (!(x.extents() == extents))
      throw error("concat", what() + ". Only the extents of the joined dim may differ.");
    if (!(x.placement() == first.placement()))
      throw error("concat",
                  what() +
                      ". Their placements differ. Redistribute them to one placement, such as " +
                      to_string(first.placement()) + ", first.");
  }
  extents[dim] = total;
  check_extents(extents, "concat");
  auto const local = [&](placement const& p) {
    return concatenates_locally(sizes, dim, m.topology(), p);
  };
  if (local(first.placement())) return extents;
  auto const nearest = *nearest_placement(extents, sizeof(typename X::value_type),
                                          first.placement(), m.topology(), m.machine(), local);
  throw error("concat", what() +
                            ". Elements would have to move between ranks. Redistribute them to " +
                            to_string(nearest) + " first.");
}

}  // namespace detail

/// Joins the tensors `parts` along dim Dim, in order. Communicates nothing. Throws ashlar::error if
/// their placements differ or their extents differ in another dim than Dim. Also throws if elements
/// would have to move between ranks, or if the tensors are owned or routed.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X>
X concat(std::span<X const> parts) {
  shape const extents = detail::check_concat(parts, Dim);
  X y(parts[0].mesh(), extents, parts[0].placement());
  std::int64_t begin = 0;
  for (X const& x : parts) {
    box held = x.local_box();  // the next line shifts the box to the result's indices
    held.dim[Dim].begin += begin;
    copy_region(y.mesh().processor(), intersect(held, y.local_box()), held,
                static_cast<typename X::value_type const*>(x.data()), y.local_box(), y.data());
    begin += x.extents()[Dim];
  }
  return y;
}
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X>
X concat(std::vector<X> const& parts) {
  return concat<Dim>(std::span<X const>(parts));
}

/// Joins the arguments, which must have the same type, along dim Dim. Communicates nothing. Throws
/// like the overload for a span.
template <int Dim, distributed X, class... Rest>
  requires(detail::has_dim<Dim, X> && (std::same_as<X, Rest> && ...))
X concat(X const& first, Rest const&... rest) {
  std::array<X, 1 + sizeof...(Rest)> const parts{first, rest...};
  return concat<Dim>(std::span<X const>(parts));
}
template <int Dim, distributed X, class... Rest>
ill_formed concat(X const&, Rest const&...) {
  static_assert((std::same_as<X, Rest> && ...), ASHLAR_SAYS_CONCAT);
  static_assert(!(std::same_as<X, Rest> && ...), "concat: " ASHLAR_SAYS_NO_DIMENSION);
  return {};
}

}  // namespace ashlar
