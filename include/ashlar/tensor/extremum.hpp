// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The larger or the smaller of two tensors, or of a tensor and a number, element by element.
// Nothing is communicated.
//
//   max(x, y)   max(x, a)   max(a, x)   min(x, y)   min(x, a)   min(a, x)
//
// The result is NaN where an operand is NaN. Each tensor may be repeated along dims of the other
// (repeated.hpp). An operand may be a partial maximum or minimum, since max and min distribute over
// each other. It may not be a partial sum: max(u + v, w) does not follow from max(u, w) and
// max(v, w). The signature tables are in signature/selection.hpp. The reductions max<d>(x) and
// min<d>(x) are in reduce.hpp.

#include <ashlar/tensor/compare.hpp>

namespace ashlar {

// Each use of this macro defines max or min: the rule for two tensors, the rule for a tensor and a
// number, the functions and their fallbacks.
#define ASHLAR_EXTREMUM(function, object)                                                          \
  namespace detail {                                                                               \
  template <int Rank>                                                                              \
  struct function##_of_two_rule {                                                                  \
    static constexpr char const* name = #function;                                                 \
    static constexpr char const* sentence = ASHLAR_SAYS_EXTREMUM(#function);                       \
    static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED_AS(#function, #function  \
                                                                             "(x, y | to<...>)");  \
    static constexpr signature_table table() {                                                     \
      return table_for(letters(Rank), letters(Rank), letters(Rank));                               \
    }                                                                                              \
    static constexpr signature_table table_for(std::string_view x, std::string_view y,             \
                                               std::string_view out) {                             \
      return extremum_signatures(x, y, out, reduction::function);                                  \
    }                                                                                              \
  };                                                                                               \
  template <int Rank>                                                                              \
  struct function##_number_rule {                                                                  \
    static constexpr char const* name = #function;                                                 \
    static constexpr char const* sentence = ASHLAR_SAYS_EXTREMUM_NUMBER(#function);                \
    static constexpr signature_table table() { return monotone_map_signatures(Rank); }             \
  };                                                                                               \
  }                                                                                                \
  template <distributed X, distributed Y>                                                          \
    requires detail::combinable<X, Y> &&                                                           \
             locally_applicable<detail::rule_for<detail::function##_of_two_rule, X, Y>, X, Y>      \
  auto function(X const& x, Y const& y) {                                                          \
    return detail::apply<detail::rule_for<detail::function##_of_two_rule, X, Y>>(                  \
        x, y, device::object{});                                                                   \
  }                                                                                                \
  template <distributed X, distributed Y>                                                          \
  ill_formed function(X const&, Y const&) {                                                        \
    static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE(#function));                    \
    static_assert(                                                                                 \
        detail::matched_if<detail::fails_as_repeated<X, Y>,                                        \
                           detail::rule_for<detail::function##_of_two_rule, X, Y>, X, Y>::fits,    \
        ASHLAR_SAYS_REPEATED_AS(#function, #function "(x, y | to<...>)"));                         \
    static_assert(                                                                                 \
        detail::matched_if<detail::fails_as_alike<X, Y>,                                           \
                           detail::rule_for<detail::function##_of_two_rule, X, Y>, X, Y>::fits,    \
        ASHLAR_SAYS_EXTREMUM(#function));                                                          \
    return {};                                                                                     \
  }                                                                                                \
  template <distributed X, class Scalar>                                                           \
    requires detail::scalar_for<Scalar, X> &&                                                      \
             locally_applicable<detail::function##_number_rule<X::rank>, X>                        \
  auto function(X const& x, Scalar a) {                                                            \
    static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION(#function));             \
    using A = accumulation_t<typename X::value_type>;                                              \
    return detail::apply_number<detail::function##_number_rule<X::rank>, false>(                   \
        x, static_cast<A>(a), device::object{});                                                   \
  }                                                                                                \
  template <distributed X, class Scalar>                                                           \
    requires detail::scalar_for<Scalar, X>                                                         \
  ill_formed function(X const&, Scalar) {                                                          \
    static_assert(detail::matched<detail::function##_number_rule<X::rank>, X>::fits,               \
                  ASHLAR_SAYS_EXTREMUM_NUMBER(#function));                                         \
    return {};                                                                                     \
  }                                                                                                \
  template <class Scalar, distributed X>                                                           \
    requires detail::scalar_for<Scalar, X>                                                         \
  auto function(Scalar a, X const& x) {                                                            \
    return function(x, a);                                                                         \
  }

ASHLAR_EXTREMUM(max, larger_of)
ASHLAR_EXTREMUM(min, smaller_of)

#undef ASHLAR_EXTREMUM

}  // namespace ashlar
