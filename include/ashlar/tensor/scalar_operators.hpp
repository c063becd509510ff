// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise operators of a tensor and a number a, and the unary minus. None of them
// communicates. Linear operators accept a partial sum x. On each mesh axis:
//
//   a * x, x * a, x / a, -x   S(d) -> S(d)   B -> B   P -> P   linear: a(u + v) = au + av
//   x + a, a + x, x - a, a - x, a / x
//                             S(d) -> S(d)   B -> B            not linear: for P, each rank would
//                                                              add a, or divide a by its addend
//
// All these operators refuse a partial maximum or minimum. a * x would be right for a > 0, but the
// sign of a is known only at run time, and whether a program is correct must not depend on it.
// Write 2 * (x | to<B>). x + a would be wrong for integers: in a partial maximum the least integer
// means "no value", but the least integer plus a is a value.
//
// The number is converted to accumulation_t<T>. Integer tensors accept only numbers of an integer
// type, and no division.

#include <ashlar/tensor/apply_rule.hpp>

namespace ashlar {
namespace detail {

/// A number with which a tensor of type X can be combined.
template <class Scalar, class X>
concept scalar_for = distributed<X> && !distributed<Scalar> &&
                     std::is_convertible_v<Scalar, accumulation_t<typename X::value_type>>;

/// Says whether a number of type Scalar keeps its fraction when it is converted to the element type
/// of X.
template <class Scalar, class X>
inline constexpr bool keeps_fraction = !std::is_integral_v<typename X::value_type> ||
                                       std::is_integral_v<Scalar>;

template <class X>
inline constexpr bool has_fractions = !std::is_integral_v<typename X::value_type>;

template <int Rank>
struct scale_rule {
  static constexpr char const* name = "multiply";
  static constexpr char const* sentence = ASHLAR_SAYS_SCALE("multiply", "a * (x | to<B, ...>)");
  static constexpr signature_table table() { return linear_map_signatures(Rank); }
};
template <int Rank>
struct scale_down_rule : scale_rule<Rank> {
  static constexpr char const* name = "divide";
  static constexpr char const* sentence = ASHLAR_SAYS_SCALE("divide", "(x | to<B, ...>) / a");
};
template <int Rank>
struct negate_rule : scale_rule<Rank> {
  static constexpr char const* name = "negate";
  static constexpr char const* sentence = ASHLAR_SAYS_SCALE("negate", "-(x | to<B, ...>)");
};
template <int Rank>
struct shift_rule {
  static constexpr char const* name = "add";
  static constexpr char const* sentence = ASHLAR_SAYS_SHIFT("add", "(x | to<B, ...>) + a");
  static constexpr signature_table table() { return nonlinear_map_signatures(Rank); }
};
template <int Rank>
struct lower_rule : shift_rule<Rank> {
  static constexpr char const* name = "subtract";
  static constexpr char const* sentence = ASHLAR_SAYS_SHIFT("subtract", "(x | to<B, ...>) - a");
};
template <int Rank>
struct subtract_from_rule : shift_rule<Rank> {
  static constexpr char const* name = "subtract";
  static constexpr char const* sentence = ASHLAR_SAYS_SHIFT("subtract", "a - (x | to<B, ...>)");
};
template <int Rank>
struct divide_by_rule : shift_rule<Rank> {
  static constexpr char const* name = "divide";
  static constexpr char const* sentence = ASHLAR_SAYS_MAP_PARTIAL("divide", "a / (x | to<B, ...>)");
};

}  // namespace detail

/// Returns a · x. Communicates nothing.
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::scale_rule<X::rank>, X>
auto operator*(Scalar a, X const& x) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("multiply"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::scale_rule<X::rank>>(x, device::scaled<A>{static_cast<A>(a)});
}
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X>
ill_formed operator*(Scalar, X const&) {
  static_assert(detail::matched<detail::scale_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SCALE("multiply", "a * (x | to<B, ...>)"));
  return {};
}

/// Returns x · a. Communicates nothing.
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::scale_rule<X::rank>, X>
auto operator*(X const& x, Scalar a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("multiply"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::scale_rule<X::rank>>(x, device::scaled<A>{static_cast<A>(a)});
}
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator*(X const&, Scalar) {
  static_assert(detail::matched<detail::scale_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SCALE("multiply", "a * (x | to<B, ...>)"));
  return {};
}

/// Returns x / a. Requires floating-point elements. Communicates nothing.
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::scale_down_rule<X::rank>, X>
auto operator/(X const& x, Scalar a) {
  static_assert(detail::has_fractions<X>, ASHLAR_SAYS_DIVIDE_INTEGERS);
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::scale_down_rule<X::rank>>(x, device::divided<A>{static_cast<A>(a)});
}
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator/(X const&, Scalar) {
  static_assert(detail::matched<detail::scale_down_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SCALE("divide", "(x | to<B, ...>) / a"));
  return {};
}

/// Returns a / x. Requires floating-point elements. Communicates nothing.
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::divide_by_rule<X::rank>, X>
auto operator/(Scalar a, X const& x) {
  static_assert(detail::has_fractions<X>, ASHLAR_SAYS_DIVIDE_INTEGERS);
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::divide_by_rule<X::rank>>(x, device::dividing<A>{static_cast<A>(a)});
}
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X>
ill_formed operator/(Scalar, X const&) {
  static_assert(detail::matched<detail::divide_by_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_MAP_PARTIAL("divide", "a / (x | to<B, ...>)"));
  return {};
}

/// Returns x + a, element by element. Communicates nothing.
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::shift_rule<X::rank>, X>
auto operator+(X const& x, Scalar a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("add"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::shift_rule<X::rank>>(x, device::shifted<A>{static_cast<A>(a)});
}
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator+(X const&, Scalar) {
  static_assert(detail::matched<detail::shift_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SHIFT("add", "(x | to<B, ...>) + a"));
  return {};
}

/// Returns a + x, element by element. Communicates nothing.
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::shift_rule<X::rank>, X>
auto operator+(Scalar a, X const& x) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("add"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::shift_rule<X::rank>>(x, device::shifted<A>{static_cast<A>(a)});
}
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X>
ill_formed operator+(Scalar, X const&) {
  static_assert(detail::matched<detail::shift_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SHIFT("add", "(x | to<B, ...>) + a"));
  return {};
}

/// Returns x - a, element by element. Communicates nothing.
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X> && locally_applicable<detail::lower_rule<X::rank>, X>
auto operator-(X const& x, Scalar a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("subtract"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::lower_rule<X::rank>>(x, device::lowered<A>{static_cast<A>(a)});
}
template <distributed X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator-(X const&, Scalar) {
  static_assert(detail::matched<detail::lower_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SHIFT("subtract", "(x | to<B, ...>) - a"));
  return {};
}

/// Returns a - x, element by element. Communicates nothing.
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X> &&
           locally_applicable<detail::subtract_from_rule<X::rank>, X>
auto operator-(Scalar a, X const& x) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("subtract"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply<detail::subtract_from_rule<X::rank>>(
      x, device::subtracting<A>{static_cast<A>(a)});
}
template <class Scalar, distributed X>
  requires detail::scalar_for<Scalar, X>
ill_formed operator-(Scalar, X const&) {
  static_assert(detail::matched<detail::subtract_from_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SHIFT("subtract", "a - (x | to<B, ...>)"));
  return {};
}

/// Returns -x. Communicates nothing.
template <distributed X>
  requires locally_applicable<detail::negate_rule<X::rank>, X>
auto operator-(X const& x) {
  return detail::apply<detail::negate_rule<X::rank>>(x, device::negated{});
}
template <distributed X>
ill_formed operator-(X const&) {
  static_assert(detail::matched<detail::negate_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SCALE("negate", "-(x | to<B, ...>)"));
  return {};
}

}  // namespace ashlar
