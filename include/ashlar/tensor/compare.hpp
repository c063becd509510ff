// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Comparisons of tensors, element by element. Nothing is communicated.
//
//   x < y   x <= y   x > y   x >= y   equal(x, y)
//
// The result is a mask: it has 1 where the comparison holds and 0 elsewhere, with the element type
// of the operands. A mask can select elements in where(mask, x, y) (where.hpp), can be a factor of
// a product, and can be summed to count elements.
//
// x or y may be a number. It is converted to accumulation_t<T> and not rounded to T: elements of
// bfloat16 are compared with the float that is nearest to the number. Each tensor may be repeated
// along dims of the other (repeated.hpp). On each mesh axis, both operands must have the same split
// or both be B. Partial operands are refused: whether u + v < w does not follow from u < w and
// v < w (signature/selection.hpp).
//
// x == y and x != y do not compile, since their results would be masks and not bools.

#include <ashlar/signature/selection.hpp>
#include <ashlar/tensor/apply_rule.hpp>
#include <ashlar/tensor/scalar_operators.hpp>

namespace ashlar {
namespace detail {

/// Applies f(x[i], y[i]) to each element, or f(y[i], x[i]) if `Swapped`.
template <template <int> class Rule, bool Swapped, distributed X, distributed Y, class F>
auto apply_either(X const& x, Y const& y, F const& f) {
  if constexpr (Swapped) return apply<rule_for<Rule, Y, X>>(y, x, f);
  else return apply<rule_for<Rule, X, Y>>(x, y, f);
}

/// Applies f(x[i], a) to each element, or f(a, x[i]) if `Swapped`. The number a is not rounded to
/// the element type: if the type is bfloat16, a may be a float that bfloat16 cannot represent.
template <class Rule, bool Swapped, distributed X, class F>
auto apply_number(X const& x, accumulation_t<typename X::value_type> a, F const& f) {
  using A = accumulation_t<typename X::value_type>;
  if constexpr (Swapped) return apply<Rule>(x, device::bound_front<F, A>{f, a});
  else return apply<Rule>(x, device::bound_back<F, A>{f, a});
}

}  // namespace detail

// Each use of this macro defines one comparison: the rule for two tensors, the rule for a tensor
// and a number, the functions for both cases, and their fallbacks. A comparison of x and y is
// computed as object(x, y), or as object(y, x) if `swaps`.
#define ASHLAR_COMPARISON(title, function, text, object, swaps)                                    \
  namespace detail {                                                                               \
  template <int Rank>                                                                              \
  struct title##_rule {                                                                            \
    static constexpr char const* name = #title;                                                    \
    static constexpr char const* sentence = ASHLAR_SAYS_COMPARE(#title, text);                     \
    static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED_AS(#title, text);        \
    static constexpr signature_table table() {                                                     \
      return table_for(letters(Rank), letters(Rank), letters(Rank));                               \
    }                                                                                              \
    static constexpr signature_table table_for(std::string_view x, std::string_view y,             \
                                               std::string_view out) {                             \
      return alike_signatures(x, y, out);                                                          \
    }                                                                                              \
  };                                                                                               \
  template <int Rank>                                                                              \
  struct title##_number_rule {                                                                     \
    static constexpr char const* name = #title;                                                    \
    static constexpr char const* sentence = ASHLAR_SAYS_COMPARE_NUMBER(#title);                    \
    static constexpr signature_table table() { return nonlinear_map_signatures(Rank); }            \
  };                                                                                               \
  }                                                                                                \
  template <distributed X, distributed Y>                                                          \
    requires detail::combinable<X, Y> &&                                                           \
             locally_applicable<detail::rule_for<detail::title##_rule, X, Y>, X, Y>                \
  auto function(X const& x, Y const& y) {                                                          \
    return detail::apply_either<detail::title##_rule, swaps>(x, y, device::object{});              \
  }                                                                                                \
  template <distributed X, distributed Y>                                                          \
  ill_formed function(X const&, Y const&) {                                                        \
    static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE(#title));                       \
    static_assert(detail::matched_if<detail::fails_as_repeated<X, Y>,                              \
                                     detail::rule_for<detail::title##_rule, X, Y>, X, Y>::fits,    \
                  ASHLAR_SAYS_REPEATED_AS(#title, text));                                          \
    static_assert(detail::matched_if<detail::fails_as_alike<X, Y>,                                 \
                                     detail::rule_for<detail::title##_rule, X, Y>, X, Y>::fits,    \
                  ASHLAR_SAYS_COMPARE(#title, text));                                              \
    return {};                                                                                     \
  }                                                                                                \
  template <distributed X, class Scalar>                                                           \
    requires detail::scalar_for<Scalar, X> &&                                                      \
             locally_applicable<detail::title##_number_rule<X::rank>, X>                           \
  auto function(X const& x, Scalar a) {                                                            \
    static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION(#title));                \
    using A = accumulation_t<typename X::value_type>;                                              \
    return detail::apply_number<detail::title##_number_rule<X::rank>, swaps>(x, static_cast<A>(a), \
                                                                             device::object{});    \
  }                                                                                                \
  template <class Scalar, distributed X>                                                           \
    requires detail::scalar_for<Scalar, X> &&                                                      \
             locally_applicable<detail::title##_number_rule<X::rank>, X>                           \
  auto function(Scalar a, X const& x) {                                                            \
    static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION(#title));                \
    using A = accumulation_t<typename X::value_type>;                                              \
    return detail::apply_number<detail::title##_number_rule<X::rank>, !swaps>(                     \
        x, static_cast<A>(a), device::object{});                                                   \
  }                                                                                                \
  template <distributed X, class Scalar>                                                           \
    requires detail::scalar_for<Scalar, X>                                                         \
  ill_formed function(X const&, Scalar) {                                                          \
    static_assert(detail::matched<detail::title##_number_rule<X::rank>, X>::fits,                  \
                  ASHLAR_SAYS_COMPARE_NUMBER(#title));                                             \
    return {};                                                                                     \
  }                                                                                                \
  template <class Scalar, distributed X>                                                           \
    requires detail::scalar_for<Scalar, X>                                                         \
  ill_formed function(Scalar, X const&) {                                                          \
    static_assert(detail::matched<detail::title##_number_rule<X::rank>, X>::fits,                  \
                  ASHLAR_SAYS_COMPARE_NUMBER(#title));                                             \
    return {};                                                                                     \
  }

ASHLAR_COMPARISON(less, operator<, "x < (y | to<...>)", less_of, false)
ASHLAR_COMPARISON(less_equal, operator<=, "x <= (y | to<...>)", less_equal_of, false)
ASHLAR_COMPARISON(greater, operator>, "x > (y | to<...>)", less_of, true)
ASHLAR_COMPARISON(greater_equal, operator>=, "x >= (y | to<...>)", less_equal_of, true)
ASHLAR_COMPARISON(equal, equal, "equal(x, y | to<...>)", equal_of, false)

#undef ASHLAR_COMPARISON

#define ASHLAR_NO_EQUALITY(op)                                                                     \
  template <distributed X, class Y>                                                                \
    requires(distributed<Y> || detail::scalar_for<Y, X>)                                           \
  ill_formed operator op(X const&, Y const&) {                                                     \
    static_assert(detail::always_false<X>, ASHLAR_SAYS_EQUALITY);                                  \
    return {};                                                                                     \
  }                                                                                                \
  template <class Scalar, distributed X>                                                           \
    requires detail::scalar_for<Scalar, X>                                                         \
  ill_formed operator op(Scalar const&, X const&) {                                                \
    static_assert(detail::always_false<X>, ASHLAR_SAYS_EQUALITY);                                  \
    return {};                                                                                     \
  }
ASHLAR_NO_EQUALITY(==)
ASHLAR_NO_EQUALITY(!=)
#undef ASHLAR_NO_EQUALITY

}  // namespace ashlar
