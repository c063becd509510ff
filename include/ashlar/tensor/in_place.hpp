// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise operators in place. They write to the shard of x, so other handles of the same
// tensor see the new values. They communicate nothing. x keeps its placement, so these placements
// of x and y are permitted on a mesh axis:
//
//   x += y, x -= y   S(d), S(d)   B, B   P, P
//   x *= y, x /= y   S(d), S(d)   B, B   P, B     not B, P: x would become partial
//   x *= a, x /= a   any placement except a partial maximum or minimum
//   x += a, x -= a   any placement that is not partial
//
// y may be repeated along dims of x (repeated.hpp). x may not be repeated, since its extents do not
// change.
//
// x and y may be the same tensor. If their shards overlap in part, as slices of one tensor may, y
// is copied first. Otherwise nothing is allocated on the host.

#include <ashlar/tensor/elementwise.hpp>

namespace ashlar {
namespace detail {

/// The signature tables of an operator in place. `Rule` is the rule of the operator that makes a
/// new tensor. Of the rows of `Rule`, the tables keep those in which the result has the placement
/// of x.
template <class Rule>
struct in_place_tables {
  static constexpr signature_table table() { return in_place_signatures(Rule::table()); }
  static constexpr signature_table table_for(std::string_view x, std::string_view y,
                                             std::string_view out) {
    return in_place_signatures(Rule::table_for(x, y, out));
  }
};
template <int Rank>
struct add_in_place_rule : in_place_tables<add_rule<Rank>> {
  static constexpr char const* name = "add in place";
  static constexpr char const* sentence = ASHLAR_SAYS_IN_PLACE("add in place", "+=");
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("add in place", "+=");
};
template <int Rank>
struct subtract_in_place_rule : in_place_tables<subtract_rule<Rank>> {
  static constexpr char const* name = "subtract in place";
  static constexpr char const* sentence = ASHLAR_SAYS_IN_PLACE("subtract in place", "-=");
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("subtract in place", "-=");
};
template <int Rank>
struct multiply_in_place_rule : in_place_tables<multiply_rule<Rank>> {
  static constexpr char const* name = "multiply in place";
  static constexpr char const* sentence = ASHLAR_SAYS_IN_PLACE("multiply in place", "*=");
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("multiply in place", "*=");
};
template <int Rank>
struct divide_in_place_rule : in_place_tables<divide_rule<Rank>> {
  static constexpr char const* name = "divide in place";
  static constexpr char const* sentence = ASHLAR_SAYS_IN_PLACE("divide in place", "/=");
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("divide in place", "/=");
};

template <int Rank>
struct scale_in_place_rule : scale_rule<Rank> {
  static constexpr char const* name = "multiply in place";
  static constexpr char const* sentence = ASHLAR_SAYS_SCALE("multiply in place",
                                                            ASHLAR_IN_PLACE_OF_NUMBER("*="));
};
template <int Rank>
struct scale_down_in_place_rule : scale_rule<Rank> {
  static constexpr char const* name = "divide in place";
  static constexpr char const* sentence = ASHLAR_SAYS_SCALE("divide in place",
                                                            ASHLAR_IN_PLACE_OF_NUMBER("/="));
};
template <int Rank>
struct shift_in_place_rule : shift_rule<Rank> {
  static constexpr char const* name = "add in place";
  static constexpr char const* sentence = ASHLAR_SAYS_SHIFT("add in place",
                                                            ASHLAR_IN_PLACE_OF_NUMBER("+="));
};
template <int Rank>
struct lower_in_place_rule : shift_rule<Rank> {
  static constexpr char const* name = "subtract in place";
  static constexpr char const* sentence = ASHLAR_SAYS_SHIFT("subtract in place",
                                                            ASHLAR_IN_PLACE_OF_NUMBER("-="));
};

template <class X>
concept writable = distributed<X> && !std::is_const_v<X>;

template <class X, class Y>
inline constexpr bool too_many_dims = [] {
  if constexpr (combinable<X, Y>) return X::rank < Y::rank;
  else return false;
}();
template <class X, class Y>
concept addable_in_place = combinable<X, Y> && !too_many_dims<X, Y>;

/// These two choose the message for typed X and Y whose placements match no row, as
/// fails_as_repeated and fails_as_alike of repeated.hpp do.
template <class X, class Y>
inline constexpr bool fails_in_place_as_repeated = addable_in_place<X, Y> &&
                                                   fails_as_repeated<X, Y>;
template <class X, class Y>
inline constexpr bool fails_in_place_as_alike = addable_in_place<X, Y> && !fails_as_repeated<X, Y>;

}  // namespace detail

/// Adds y to x. Returns x. Communicates nothing.
template <detail::writable X, distributed Y>
  requires detail::addable_in_place<X, Y> &&
           locally_applicable<detail::rule_for<detail::add_in_place_rule, X, Y>, X, Y>
X& operator+=(X& x, Y const& y) {
  return detail::apply_in_place<detail::rule_for<detail::add_in_place_rule, X, Y>>(
      x, y, device::sum_of{});
}
template <detail::writable X, distributed Y>
ill_formed operator+=(X&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("add in place"));
  static_assert(!detail::too_many_dims<X, Y>, ASHLAR_SAYS_IN_PLACE_DIMS("add in place"));
  static_assert(detail::matched_if<detail::fails_in_place_as_repeated<X, Y>,
                                   detail::rule_for<detail::add_in_place_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_REPEATED("add in place", "+="));
  static_assert(detail::matched_if<detail::fails_in_place_as_alike<X, Y>,
                                   detail::rule_for<detail::add_in_place_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_IN_PLACE("add in place", "+="));
  return {};
}

/// Subtracts y from x. Returns x. Communicates nothing.
template <detail::writable X, distributed Y>
  requires detail::addable_in_place<X, Y> &&
           locally_applicable<detail::rule_for<detail::subtract_in_place_rule, X, Y>, X, Y>
X& operator-=(X& x, Y const& y) {
  return detail::apply_in_place<detail::rule_for<detail::subtract_in_place_rule, X, Y>>(
      x, y, device::difference_of{});
}
template <detail::writable X, distributed Y>
ill_formed operator-=(X&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("subtract in place"));
  static_assert(!detail::too_many_dims<X, Y>, ASHLAR_SAYS_IN_PLACE_DIMS("subtract in place"));
  static_assert(
      detail::matched_if<detail::fails_in_place_as_repeated<X, Y>,
                         detail::rule_for<detail::subtract_in_place_rule, X, Y>, X, Y>::fits,
      ASHLAR_SAYS_REPEATED("subtract in place", "-="));
  static_assert(
      detail::matched_if<detail::fails_in_place_as_alike<X, Y>,
                         detail::rule_for<detail::subtract_in_place_rule, X, Y>, X, Y>::fits,
      ASHLAR_SAYS_IN_PLACE("subtract in place", "-="));
  return {};
}

/// Multiplies x by y, element by element. Returns x. Communicates nothing.
template <detail::writable X, distributed Y>
  requires detail::addable_in_place<X, Y> &&
           locally_applicable<detail::rule_for<detail::multiply_in_place_rule, X, Y>, X, Y>
X& operator*=(X& x, Y const& y) {
  return detail::apply_in_place<detail::rule_for<detail::multiply_in_place_rule, X, Y>>(
      x, y, device::product_of{});
}
template <detail::writable X, distributed Y>
ill_formed operator*=(X&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("multiply in place"));
  static_assert(!detail::too_many_dims<X, Y>, ASHLAR_SAYS_IN_PLACE_DIMS("multiply in place"));
  static_assert(
      detail::matched_if<detail::fails_in_place_as_repeated<X, Y>,
                         detail::rule_for<detail::multiply_in_place_rule, X, Y>, X, Y>::fits,
      ASHLAR_SAYS_REPEATED("multiply in place", "*="));
  static_assert(
      detail::matched_if<detail::fails_in_place_as_alike<X, Y>,
                         detail::rule_for<detail::multiply_in_place_rule, X, Y>, X, Y>::fits,
      ASHLAR_SAYS_IN_PLACE("multiply in place", "*="));
  return {};
}

/// Divides x by y, element by element. Returns x. Communicates nothing.
template <detail::writable X, distributed Y>
  requires detail::addable_in_place<X, Y> &&
           locally_applicable<detail::rule_for<detail::divide_in_place_rule, X, Y>, X, Y>
X& operator/=(X& x, Y const& y) {
  static_assert(detail::has_fractions<X>, ASHLAR_SAYS_DIVIDE_INTEGERS);
  return detail::apply_in_place<detail::rule_for<detail::divide_in_place_rule, X, Y>>(
      x, y, device::quotient_of{});
}
template <detail::writable X, distributed Y>
ill_formed operator/=(X&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("divide in place"));
  static_assert(!detail::too_many_dims<X, Y>, ASHLAR_SAYS_IN_PLACE_DIMS("divide in place"));
  static_assert(
      detail::matched_if<detail::fails_in_place_as_repeated<X, Y>,
                         detail::rule_for<detail::divide_in_place_rule, X, Y>, X, Y>::fits,
      ASHLAR_SAYS_REPEATED("divide in place", "/="));
  static_assert(
      detail::matched_if<detail::fails_in_place_as_alike<X, Y>,
                         detail::rule_for<detail::divide_in_place_rule, X, Y>, X, Y>::fits,
      ASHLAR_SAYS_IN_PLACE("divide in place", "/="));
  return {};
}

/// Multiplies x by the number a. Returns x. Communicates nothing.
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X> &&
           locally_applicable<detail::scale_in_place_rule<X::rank>, X>
X& operator*=(X& x, Scalar a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("multiply in place"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply_in_place<detail::scale_in_place_rule<X::rank>>(
      x, device::scaled<A>{static_cast<A>(a)});
}
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator*=(X&, Scalar) {
  static_assert(detail::matched<detail::scale_in_place_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SCALE("multiply in place", ASHLAR_IN_PLACE_OF_NUMBER("*=")));
  return {};
}

/// Divides x by the number a. Returns x. Communicates nothing.
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X> &&
           locally_applicable<detail::scale_down_in_place_rule<X::rank>, X>
X& operator/=(X& x, Scalar a) {
  static_assert(detail::has_fractions<X>, ASHLAR_SAYS_DIVIDE_INTEGERS);
  using A = accumulation_t<typename X::value_type>;
  return detail::apply_in_place<detail::scale_down_in_place_rule<X::rank>>(
      x, device::divided<A>{static_cast<A>(a)});
}
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator/=(X&, Scalar) {
  static_assert(detail::matched<detail::scale_down_in_place_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SCALE("divide in place", ASHLAR_IN_PLACE_OF_NUMBER("/=")));
  return {};
}

/// Adds the number a to each element of x. Returns x. Communicates nothing.
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X> &&
           locally_applicable<detail::shift_in_place_rule<X::rank>, X>
X& operator+=(X& x, Scalar a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("add in place"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply_in_place<detail::shift_in_place_rule<X::rank>>(
      x, device::shifted<A>{static_cast<A>(a)});
}
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator+=(X&, Scalar) {
  static_assert(detail::matched<detail::shift_in_place_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SHIFT("add in place", ASHLAR_IN_PLACE_OF_NUMBER("+=")));
  return {};
}

/// Subtracts the number a from each element of x. Returns x. Communicates nothing.
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X> &&
           locally_applicable<detail::lower_in_place_rule<X::rank>, X>
X& operator-=(X& x, Scalar a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("subtract in place"));
  using A = accumulation_t<typename X::value_type>;
  return detail::apply_in_place<detail::lower_in_place_rule<X::rank>>(
      x, device::lowered<A>{static_cast<A>(a)});
}
template <detail::writable X, class Scalar>
  requires detail::scalar_for<Scalar, X>
ill_formed operator-=(X&, Scalar) {
  static_assert(detail::matched<detail::lower_in_place_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_SHIFT("subtract in place", ASHLAR_IN_PLACE_OF_NUMBER("-=")));
  return {};
}

}  // namespace ashlar
