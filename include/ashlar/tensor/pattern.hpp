// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes tensors with simple patterns of values. Like all factories, these functions communicate
// nothing. On partial axes, the ranks at coordinate 0 hold the values (factory.hpp).
//
//   arange<T>(mesh, n, p)          0, 1, ..., n - 1
//   eye<T>(mesh, n, p)             the identity matrix n x n
//   zeros_like(x), full_like(x, v) zeros, or the value v, with the extents, the placement, the
//                                  element type and the mesh of x

#include <ashlar/tensor/factory.hpp>

namespace ashlar {

/// Returns the vector 0, 1, ..., count - 1. Communicates nothing.
template <class T, placement_argument Placement, class Processor>
auto arange(basic_mesh<Processor> const& m, std::int64_t count, Placement const& p) {
  using A = accumulation_t<T>;
  return from_index<T, 1>(m, shape{count}, p, [](auto const& i) { return static_cast<A>(i[0]); });
}

/// Returns the identity matrix of `count` rows. Communicates nothing.
template <class T, placement_argument Placement, class Processor>
auto eye(basic_mesh<Processor> const& m, std::int64_t count, Placement const& p) {
  using A = accumulation_t<T>;
  return from_index<T, 2>(m, shape{count, count}, p,
                          [](auto const& i) { return i[0] == i[1] ? A(1) : A(0); });
}

/// Returns a tensor of x's type, extents, placement and mesh in which every element is `value`.
/// Communicates nothing.
template <distributed X>
X full_like(X const& x, accumulation_t<typename X::value_type> value) {
  using T = typename X::value_type;
  return detail::make(X(x.mesh(), x.extents(), x.placement()), [value](auto& t) {
    fill(t.mesh().processor(), static_cast<T>(value), t.local_elements(), t.data());
  });
}

/// Returns a tensor of zeros of x's type, extents, placement and mesh. Communicates nothing.
template <distributed X>
X zeros_like(X const& x) {
  return full_like(x, accumulation_t<typename X::value_type>{});
}

}  // namespace ashlar
