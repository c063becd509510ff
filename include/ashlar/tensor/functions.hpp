// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Elementary functions of each element. They are not linear, so they refuse a partial tensor:
// f(u + v) is not f(u) + f(v). The result has the placement of x. Nothing is communicated.
//
//   exp(x)   log(x)   sqrt(x)   rsqrt(x)   tanh(x)   sigmoid(x)   silu(x)   erf(x)   pow(x, a)
//   abs(x)
//
// They compute in accumulation_t<T> (device/function.hpp) and round the result once. All but abs
// refuse integer tensors. gelu and relu are in elementwise.hpp.

#include <ashlar/device/function.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar {
namespace detail {

template <class X>
inline constexpr bool is_integral_tensor = std::is_integral_v<typename X::value_type>;

}  // namespace detail

// Each use of this macro defines one function: its rule, whose message names the function, the
// function itself, and its fallback.
#define ASHLAR_FUNCTION(function, object, takes_integers)                                          \
  namespace detail {                                                                               \
  template <int Rank>                                                                              \
  struct function##_rule : map_rule<Rank> {                                                        \
    static constexpr char const* name = #function;                                                 \
    static constexpr char const* sentence = ASHLAR_SAYS_MAP_PARTIAL(#function,                     \
                                                                    #function "(x | to<B, ...>)"); \
  };                                                                                               \
  }                                                                                                \
  template <distributed X>                                                                         \
    requires locally_applicable<detail::function##_rule<X::rank>, X>                               \
  auto function(X const& x) {                                                                      \
    static_assert(takes_integers || !detail::is_integral_tensor<X>,                                \
                  ASHLAR_SAYS_FUNCTION_INTEGERS(#function));                                       \
    return detail::apply<detail::function##_rule<X::rank>>(x, device::value_of<device::object>{}); \
  }                                                                                                \
  template <distributed X>                                                                         \
  ill_formed function(X const&) {                                                                  \
    static_assert(detail::matched<detail::function##_rule<X::rank>, X>::fits,                      \
                  ASHLAR_SAYS_MAP_PARTIAL(#function, #function "(x | to<B, ...>)"));               \
    return {};                                                                                     \
  }

ASHLAR_FUNCTION(exp, exponential, false)
ASHLAR_FUNCTION(log, natural_log, false)
ASHLAR_FUNCTION(sqrt, square_root, false)
ASHLAR_FUNCTION(rsqrt, inverse_square_root, false)
ASHLAR_FUNCTION(tanh, hyperbolic_tangent, false)
ASHLAR_FUNCTION(sigmoid, logistic, false)
ASHLAR_FUNCTION(silu, silu, false)
ASHLAR_FUNCTION(erf, error_function, false)
ASHLAR_FUNCTION(abs, magnitude, true)

#undef ASHLAR_FUNCTION

namespace detail {
template <int Rank>
struct pow_rule : map_rule<Rank> {
  static constexpr char const* name = "pow";
  static constexpr char const* sentence = ASHLAR_SAYS_MAP_PARTIAL("pow", "pow(x | to<B, ...>, a)");
};
}  // namespace detail

/// Returns each element raised to the power a, as std::pow does. Communicates nothing.
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::pow_rule<X::rank>, X>
auto pow(X const& x, Scalar a) {
  static_assert(!detail::is_integral_tensor<X>, ASHLAR_SAYS_FUNCTION_INTEGERS("pow"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::pow_rule<X::rank>>(x, device::raised<A>{static_cast<A>(a)});
}
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed pow(X const&, Scalar) {
  static_assert(detail::matched<detail::pow_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_MAP_PARTIAL("pow", "pow(x | to<B, ...>, a)"));
  return {};
}

}  // namespace ashlar
