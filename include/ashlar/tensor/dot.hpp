// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Inner products and norms. The result is a number that is the same on every rank, so these
// functions communicate. An all-reduce of one element adds up the sums of the shards. It runs along
// all axes that split the operands or on which one operand is partial. If some of these axes lie
// between nodes and others inside nodes, one all-reduce for each axis can be cheaper, and is then
// used instead. Axes on which both operands are B need none.
//
//   dot(x, y)   the sum of x · y over all elements   table: dot_signatures
//   norm(x)     sqrt(dot(x, x))                      table: sum_of_squares_signatures, so x must
//                                                    not be partial
//
// Both functions compute in A = accumulation_t<T> (float for bfloat16, else T) and return a value
// of type A. Sums of integers wrap around.

#include <cmath>

#include <ashlar/tensor/apply_rule.hpp>
#include <ashlar/tensor/item.hpp>

namespace ashlar {
namespace detail {

template <int Rank>
struct dot_rule {
  static constexpr char const* name = "dot";
  static constexpr char const* sentence = ASHLAR_SAYS_DOT;
  static constexpr signature_table table() { return dot_signatures(letters(Rank)); }
};
template <int Rank>
struct norm_rule {
  static constexpr char const* name = "norm";
  static constexpr char const* sentence = ASHLAR_SAYS_NORM;
  static constexpr signature_table table() { return sum_of_squares_signatures(Rank); }
};

/// Returns the sum of x[i] · y[i] over all elements. First each rank adds up its shard. `p` is the
/// placement of these sums. Then a redistribution to B adds the sums of the ranks.
template <distributed X, distributed Y, class Placement>
auto whole_dot(X const& x, Y const& y, Placement const& p) {
  using T = typename X::value_type;
  using A = accumulation_t<T>;
  auto const& m = x.mesh();
  auto const on = m.processor();
  auto const n = x.local_elements();
  auto const sum = empty<A, 0>(m, shape{}, as_value(p));
  auto const add_up = [&](A const* a, A const* b, A* products) {
    map(on, device::product_of{}, a, b, n, products);
    reduce_dim(on, m.memory(), reduction::sum, static_cast<A const*>(products), 1, n, 1,
               sum.data());
  };
  buffer<A> const products(m.memory(), n);
  if constexpr (std::same_as<T, A>) {
    add_up(x.data(), y.data(), products.data());
  } else {
    buffer<A> const right(m.memory(), n);
    convert(on, static_cast<T const*>(x.data()), n, products.data());
    convert(on, static_cast<T const*>(y.data()), n, right.data());
    add_up(products.data(), right.data(), products.data());
  }
  return item(redistribute(sum, placement::all_broadcast(m.axes())));
}

}  // namespace detail

/// Returns the sum of x · y over all elements, as an accumulation_t<T>, the same on every rank.
/// Communicates one all-reduce of one element along all axes that split the operands or on which
/// one operand is partial, or one all-reduce for each of these axes if that is cheaper.
/// Communicates nothing if there are no such axes. Throws ashlar::error if the extents differ, or
/// if run-time placements match no row of the table.
template <distributed X, distributed Y>
  requires detail::alike<X, Y> && locally_applicable<detail::dot_rule<X::rank>, X, Y>
auto dot(X const& x, Y const& y) {
  auto const p = detail::result_of<detail::dot_rule<X::rank>>(x, y);
  detail::same_extents("dot", x, y);
  return detail::whole_dot(x, y, p);
}
template <distributed X, distributed Y>
ill_formed dot(X const&, Y const&) {
  static_assert(detail::alike<X, Y>, ASHLAR_SAYS_ALIKE("dot"));
  static_assert(detail::matched_if<detail::alike<X, Y>, detail::dot_rule<X::rank>, X, Y>::fits,
                ASHLAR_SAYS_DOT);
  return {};
}

/// Returns the Euclidean norm of all elements, as an accumulation_t<T>, the same on every rank.
/// Requires floating-point elements. Communicates like dot(x, x).
template <distributed X>
  requires locally_applicable<detail::norm_rule<X::rank>, X>
auto norm(X const& x) {
  static_assert(!std::is_integral_v<typename X::value_type>, ASHLAR_SAYS_FUNCTION_INTEGERS("norm"));
  return std::sqrt(detail::whole_dot(x, x, detail::result_of<detail::norm_rule<X::rank>>(x)));
}
template <distributed X>
ill_formed norm(X const&) {
  static_assert(detail::matched<detail::norm_rule<X::rank>, X>::fits, ASHLAR_SAYS_NORM);
  return {};
}

}  // namespace ashlar
