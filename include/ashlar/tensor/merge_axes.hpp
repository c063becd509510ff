// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Merges neighbouring dims of a tensor into one and leaves the other dims as they are. (In the name
// of this function, "axis" means a dim of the tensor, as in other libraries.)
//
//   merge_axes<1>(x)       512x4x6 -> 512x24       dims 1 and 2
//   merge_axes<0, 3>(x)    512x4x6 -> 12288        dims 0, 1 and 2
//
// For a typed x, every mesh axis that splits one of the merged dims splits the new dim. In the
// shard order of the new dim, axes that split an earlier dim come before axes that split a later
// dim. For a dynamic x, the result has this placement too if no element has to move between ranks.
// Otherwise reshape finds another placement.

#include <ashlar/tensor/reshape.hpp>

namespace ashlar {
namespace detail {

template <int First, int Count, distributed X>
inline constexpr bool has_dims = First >= 0 && Count >= 1 && First <= X::rank - Count;

template <int First, int Count, distributed X>
auto merge_axes_result() {
  if constexpr (X::is_static) return tag_of<merge_axes_placement(static_value<X>, First, Count)>{};
  else return dynamic{};
}

}  // namespace detail

/// Returns x with the dims First, ..., First + Count - 1 merged into one. Communicates nothing. The
/// result shares the shard of x. Throws ashlar::error if elements would have to move between ranks.
template <int First, int Count = 2, distributed X>
  requires detail::has_dims<First, Count, X>
auto merge_axes(X const& x) {
  shape extents;
  std::int64_t product = 1;
  for (int d = 0; d < X::rank; ++d) {
    if (d < First || d >= First + Count) extents.extent.push_back(x.extents()[d]);
    else product *= x.extents()[d];
    if (d == First + Count - 1) extents.extent.push_back(product);
  }
  return detail::reshaped<decltype(detail::merge_axes_result<First, Count, X>()),
                          X::rank - Count + 1>("merge_axes", x, extents,
                                               merge_axes_placement(x.placement(), First, Count));
}
template <int First, int Count = 2, distributed X>
ill_formed merge_axes(X const&) {
  static_assert(detail::always_false<X>, "merge_axes: " ASHLAR_SAYS_NO_DIMENSION);
  return {};
}

}  // namespace ashlar
