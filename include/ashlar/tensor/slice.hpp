// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Cuts a range of indices out of one dim of a tensor x. The result has the placement of x. Nothing
// moves between ranks. If a rank would need elements of another rank, slice throws an error. The
// error names the redistribution that the program must run first.
//
//   slice<0>(x, begin, size)    shares the shard of x, since a range of rows is contiguous
//   slice<d>(x, begin, size)    d > 0: copies
//
// If no axis splits dim d, the slice never needs communication. If an axis splits it,
// slices_locally (layout/slice.hpp) decides whether communication would be needed.

#include <ashlar/layout/slice.hpp>
#include <ashlar/plan/nearest.hpp>
#include <ashlar/tensor/local_rule.hpp>
#include <ashlar/tensor/region.hpp>

namespace ashlar {
namespace detail {

/// Throws unless each rank can cut [begin, begin + size) of dim `dim` out of its own shard of x.
template <distributed X>
void check_slice(X const& x, int dim, std::int64_t begin, std::int64_t size) {
  refuse_owned_or_routed("slice", x.extents(), x.placement());
  std::int64_t const n = x.extents()[dim];
  auto const& m = x.mesh();
  auto const what = [&] {
    return "[" + std::to_string(begin) + ", " + std::to_string(begin) + " + " +
           std::to_string(size) + ") of dim " + std::to_string(dim) + " of " + describe(x);
  };
  if (begin < 0 || size < 0 || begin > n || size > n - begin)
    throw error("slice", what() + ": the range is not within 0 and " + std::to_string(n) + ".");
  auto const local = [&](placement const& p) {
    return slices_locally(n, dim, begin, size, m.topology(), p);
  };
  if (local(x.placement())) return;
  auto const nearest = *nearest_placement(x.extents(), sizeof(typename X::value_type),
                                          x.placement(), m.topology(), m.machine(), local);
  throw error("slice", what() + ": elements would have to move between ranks. Redistribute it to " +
                           to_string(nearest) + " first.");
}

}  // namespace detail

/// Returns the part of x with the indices [begin, begin + size) of dim Dim. Communicates nothing.
/// The result shares the shard of x if Dim is 0. Throws ashlar::error if the range is not within
/// the dim, if elements would have to move between ranks, or if x is owned or routed.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X>
X slice(X const& x, std::int64_t begin, std::int64_t size) {
  detail::check_slice(x, Dim, begin, size);
  shape extents = x.extents();
  extents[Dim] = size;
  // The box of x that becomes this rank's shard of the result.
  box part = x.mesh().local_box(extents, x.placement());
  part.dim[Dim].begin += begin;
  if constexpr (Dim == 0) {
    std::int64_t const offset = part.elements() == 0 ? 0 : offset_of(x.local_box(), part);
    return X(x.mesh(), extents, x.placement(),
             std::shared_ptr<typename X::value_type>(x.shard(), x.data() + offset));
  } else {
    X y(x.mesh(), extents, x.placement());
    copy_region(x.mesh().processor(), part, x.local_box(),
                static_cast<typename X::value_type const*>(x.data()), part, y.data());
    return y;
  }
}
template <int Dim, distributed X>
ill_formed slice(X const&, std::int64_t, std::int64_t) {
  static_assert(detail::always_false<X>, "slice: " ASHLAR_SAYS_NO_DIMENSION);
  return {};
}

}  // namespace ashlar
