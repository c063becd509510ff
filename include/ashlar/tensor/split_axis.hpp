// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One dim of a tensor becomes several; the others stay. (An axis here is one of the tensor, as in
// other libraries' names for this; the mesh has nothing to do with it.)
//
//   split_axis<1>(x, {4, 6})    512x24 -> 512x4x6
//
//   typed x     the splits of the dim go to the first new one: S(1) -> S(1); later dims move up
//   dynamic x   the same where that moves nothing, else as reshape finds it
//
// Typed results that lie otherwise: reshape<sbp<…>>(x, {…}).

#include <ashlar/tensor/reshape.hpp>

namespace ashlar {
namespace detail {

template <int Dim, int Parts, distributed X>
auto split_axis_result() {
  if constexpr (X::is_static) return tag_of<split_axis_placement(static_value<X>, Dim, Parts)>{};
  else return dynamic{};
}

}  // namespace detail

/// x with dim Dim as `parts`, whose product is its extent. Communicates nothing; shares the shard.
/// Throws ashlar::error if the product differs or elements would have to move.
template <int Dim, distributed X, int Parts>
  requires(detail::has_dim<Dim, X> && X::rank - 1 + Parts <= max_rank)
auto split_axis(X const& x, std::int64_t const (&parts)[Parts]) {
  shape extents;
  std::int64_t product = 1;
  for (int d = 0; d < Dim; ++d) extents.extent.push_back(x.extents()[d]);
  for (auto const n : parts) extents.extent.push_back(n), product *= n;
  for (int d = Dim + 1; d < X::rank; ++d) extents.extent.push_back(x.extents()[d]);
  if (product != x.extents()[Dim])
    throw error("split_axis", describe(x) + ": dim " + std::to_string(Dim) +
                                  " does not split into " + to_string(detail::shape_of(parts)) +
                                  ".");
  return detail::reshaped<decltype(detail::split_axis_result<Dim, Parts, X>()),
                          X::rank - 1 + Parts>("split_axis", x, extents,
                                               split_axis_placement(x.placement(), Dim, Parts));
}
template <int Dim, distributed X, int Parts>
ill_formed split_axis(X const&, std::int64_t const (&)[Parts]) {
  static_assert(detail::has_dim<Dim, X>, "split_axis: " ASHLAR_SAYS_NO_DIMENSION);
  static_assert(!detail::has_dim<Dim, X>, "split_axis: " ASHLAR_SAYS_RANK);
  return {};
}

}  // namespace ashlar
