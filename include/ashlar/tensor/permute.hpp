// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reorders the dims of a tensor. Each rank reorders its own shard, so nothing is communicated. An
// axis that splits a dim of x splits the same dim, under its new number, in the result. If dim d of
// x becomes dim d' of the result, the placements of x and of the result on a mesh axis are:
//
//   permute, transpose   S(d) -> S(d')   B -> B   P -> P   P(max) -> P(max)   P(min) -> P(min)
//
//   permute<2, 0, 1>(x)  dims 2, 0 and 1 of x become dims 0, 1 and 2: 4x5x6 -> 6x4x5
//   transpose<0, 2>(x)   swaps dims 0 and 2
//   transpose(x)         transposes a matrix; reduce.hpp has it
//
// Axes that split one dim keep their shard order. The result has a shard of its own.

#include <array>
#include <utility>

#include <ashlar/tensor/reduce.hpp>

namespace ashlar {
namespace detail {

/// Says whether `Order` names each dim of X once.
template <distributed X, int... Order>
inline constexpr bool is_permutation_of_dims = static_cast<int>(sizeof...(Order)) == X::rank &&
                                               are_dims_of<X, Order...>;

template <int... Order>
struct permute_rule {
  static constexpr char const* name = "permute";
  static constexpr char const* sentence = transpose_rule::sentence;
  static constexpr signature_table table() { return transpose_signatures({Order...}); }
};

}  // namespace detail

/// Returns x with its dims in another order: dim i of the result is dim Order[i] of x. Communicates
/// nothing. Partial tensors are reordered addend by addend.
template <int... Order, distributed X>
  requires detail::is_permutation_of_dims<X, Order...> &&
           locally_applicable<detail::permute_rule<Order...>, X>
auto permute(X const& x) {
  auto const p = detail::result_of<detail::permute_rule<Order...>>(x);
  using T = typename X::value_type;
  shape extents;
  (extents.extent.push_back(x.extents()[Order]), ...);
  auto y = empty<T, X::rank>(x.mesh(), extents, p);
  if (x.local_elements() == 0) return y;
  // The strides of both shards, in the order of the result's dims.
  std::array<std::int64_t, max_rank + 1> local{}, from{}, target{}, stride{};
  std::int64_t step = 1;
  for (int d = X::rank - 1; d >= 0; step *= x.local_size(d--))
    stride[static_cast<std::size_t>(d)] = step;
  std::size_t i = 0;
  ((from[i] = stride[Order], local[i] = x.local_size(Order), ++i), ...);
  step = 1;
  for (std::size_t d = X::rank; d-- > 0; step *= local[d]) target[d] = step;
  copy_strided(x.mesh().processor(), X::rank, local.data(), static_cast<T const*>(x.data()),
               from.data(), y.data(), target.data());
  return y;
}
template <int... Order, distributed X>
ill_formed permute(X const&) {
  static_assert(detail::always_false<X>, ASHLAR_SAYS_PERMUTE);
  return {};
}

namespace detail {
template <int First, int Second, distributed X, int... Dim>
auto swapped_dims(X const& x, std::integer_sequence<int, Dim...>) {
  return permute<(Dim == First ? Second : Dim == Second ? First : Dim)...>(x);
}
}  // namespace detail

/// Returns x with dims First and Second swapped. Communicates nothing.
template <int First, int Second, distributed X>
  requires(detail::has_dim<First, X> && detail::has_dim<Second, X>)
auto transpose(X const& x) {
  return detail::swapped_dims<First, Second>(x, std::make_integer_sequence<int, X::rank>{});
}
template <int First, int Second, distributed X>
ill_formed transpose(X const&) {
  static_assert(detail::always_false<X>, "transpose: " ASHLAR_SAYS_NO_DIMENSION);
  return {};
}

}  // namespace ashlar
