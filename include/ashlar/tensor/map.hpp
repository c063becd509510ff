// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// map(f, x, y, ...): applies a function to the elements of several tensors with the same extents
// and placement, on the host. A function of three tensors, for example, is a lambda:
//
//   map([](float a, float b, float c) { return a < b ? b : c; }, x, y, z)
//
// On each mesh axis, all operands have the same split or all are B. The result has their placement.
// Nothing is communicated. The arguments of f have the type accumulation_t<T>, and its result is
// rounded once to T.

#include <array>
#include <type_traits>

#include <ashlar/tensor/elementwise.hpp>

namespace ashlar {
namespace detail {

template <int Rank>
struct alike_rule {
  static constexpr char const* name = "map";
  static constexpr char const* sentence = ASHLAR_SAYS_MAP_ALIKE;
  static constexpr signature_table table() { return alike_signatures(Rank); }
};

/// Returns a mesh axis on which X is partial, or on which one of Y is placed unlike X. Returns -1
/// if there is none.
template <class X, class... Y>
constexpr int unlike_axis() {
  using rule = alike_rule<X::rank>;
  int axis = -1;
  auto const look = [&]<class Other>(std::type_identity<Other>) {
    if constexpr (!holds_statically<rule, X, Other>())
      if (axis < 0) axis = failing_axis<rule, X, Other>();
  };
  (look(std::type_identity<Y>()), ...);
  return axis;
}

/// The type whose `fits` the fallback overload of map asserts. As in match_if (local_rule.hpp),
/// `fits` is false if `Concerned`, and the type names the failing axis. Otherwise `fits` is true.
template <bool Concerned, class X, class... Y>
struct match_all_if {
  using type = on_mesh_axis<unlike_axis<X, X, Y...>()>;
};
template <class X, class... Y>
struct match_all_if<false, X, Y...> : match_if<false, void> {};
template <bool Concerned, class X, class... Y>
using placed_alike = typename match_all_if<Concerned, X, Y...>::type;

/// Holds if F is not a tensor, so that it can be the function, and all X are tensors.
template <class F, class... X>
concept function_of_tensors = !distributed<F> && (distributed<X> && ...);

}  // namespace detail

/// Returns the tensor whose element i is f(x[i], y[i]...), at the placement of x. Requires that all
/// tensors have the same element type and are in host memory. Communicates nothing. Throws
/// ashlar::error if the extents or the run-time placements differ, or if a placement is partial.
template <class F, class X, class... Y>
  requires(detail::function_of_tensors<F, X, Y...> && (detail::alike<X, Y> && ...) &&
           locally_applicable<detail::alike_rule<X::rank>, X, X> &&
           (locally_applicable<detail::alike_rule<X::rank>, X, Y> && ...))
auto map(F const& f, X const& x, Y const&... y) {
  static_assert(X::processor_type::is_host, ASHLAR_SAYS_MAP_ON_HOST);
  using T = typename X::value_type;
  using A = accumulation_t<T>;
  auto const p = detail::result_of<detail::alike_rule<X::rank>>(x, x);
  ((void)detail::result_of<detail::alike_rule<X::rank>>(x, y), ...);
  (detail::same_extents("map", x, y), ...);
  auto z = empty<T, X::rank>(x.mesh(), x.extents(), p);
  T* const out = z.data();
  [&](auto const*... in) {
    for (std::int64_t i = 0; i < z.local_elements(); ++i)
      out[i] = static_cast<T>(f(static_cast<A>(in[i])...));
  }(static_cast<T const*>(x.data()), static_cast<T const*>(y.data())...);
  return z;
}
template <class F, class X, class... Y>
  requires detail::function_of_tensors<F, X, Y...>
ill_formed map(F const&, X const&, Y const&...) {
  static_assert((detail::alike<X, Y> && ...), ASHLAR_SAYS_ALIKE("map"));
  static_assert(detail::placed_alike<(detail::alike<X, Y> && ...), X, Y...>::fits,
                ASHLAR_SAYS_MAP_ALIKE);
  return {};
}

}  // namespace ashlar
