// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Divides one dim of a tensor into several dims and leaves the other dims as they are. (In the name
// of this function, "axis" means a dim of the tensor, as in other libraries.)
//
//   split_axis<1>(x, {4, 6})    512x24 -> 512x4x6
//
// For a typed x, a mesh axis that splits the dim splits the first of the new dims in the result: in
// the example, S(1) stays S(1). Later dims get higher numbers. For a dynamic x, the result has this
// placement too if no element has to move between ranks. Otherwise reshape finds another placement.
// For a typed result at another placement, use reshape<sbp<…>>(x, {…}).

#include <ashlar/tensor/reshape.hpp>

namespace ashlar {
namespace detail {

template <int Dim, int Parts, distributed X>
auto split_axis_result() {
  if constexpr (X::is_static) return tag_of<split_axis_placement(static_value<X>, Dim, Parts)>{};
  else return dynamic{};
}

}  // namespace detail

/// Returns x with dim Dim replaced by dims with the extents `parts`. Communicates nothing. The
/// result shares the shard of x. Throws ashlar::error if the product of `parts` is not the extent
/// of Dim, or if elements would have to move between ranks.
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
