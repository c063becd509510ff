// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// mean<d, ..>(x) is the mean over the dims d, .., which the result does not have. mean(x) is the
// mean of all elements, as a tensor without dims. A mean is the sum divided by the number of
// elements that are summed, and has the placement of the sum: P on axes that split one of these
// dims. Nothing is communicated.
//
// The mean is computed in accumulation_t<T>, and rounded once. A mean of no elements is NaN.

#include <ashlar/tensor/reduce.hpp>
#include <ashlar/tensor/scalar_operators.hpp>

namespace ashlar {
namespace detail {

template <int Rank, unsigned Dims>
struct mean_rule : reduce_rule<Rank, Dims, reduction::sum> {
  static constexpr char const* name = "mean";
  static constexpr char const* sentence = ASHLAR_SAYS_REDUCE("mean", "mean<0>(x | to<B, ...>)");
};

/// Returns the mean over the dims d for which bit d of `Dims` is set.
template <unsigned Dims, distributed X>
auto mean_over(X const& x) {
  using T = typename X::value_type;
  using A = accumulation_t<T>;
  static_assert(!std::is_integral_v<T>, ASHLAR_SAYS_MEAN_INTEGERS);
  result_of<mean_rule<X::rank, Dims>>(x);
  if constexpr (std::is_integral_v<T>) {
    return ill_formed{};
  } else if constexpr (!std::same_as<T, A>) {
    return converted<T>(mean_over<Dims>(converted<A>(x)));
  } else {
    std::int64_t n = 1;
    for (int d = 0; d < X::rank; ++d)
      if ((Dims >> d & 1u) != 0) n *= x.extents()[d];
    return reduced<Dims, reduction::sum>(x) / static_cast<A>(n);
  }
}

}  // namespace detail

/// Returns the mean over the dims First and Rest. Requires floating-point elements. Communicates
/// nothing: the result is P on axes that split one of these dims.
template <int First, int... Rest, distributed X>
  requires(detail::are_dims_of<X, First, Rest...> &&
           locally_applicable<detail::mean_rule<X::rank, detail::dim_bits<First, Rest...>>, X>)
auto mean(X const& x) {
  return detail::mean_over<detail::dim_bits<First, Rest...>>(x);
}
template <int First, int... Rest, distributed X>
ill_formed mean(X const&) {
  static_assert(detail::are_dims_of<X, First, Rest...>, ASHLAR_SAYS_DIMENSIONS("mean"));
  static_assert(
      detail::matched_if<detail::are_dims_of<X, First, Rest...>,
                         detail::mean_rule<X::rank, detail::dim_bits<First, Rest...>>, X>::fits,
      ASHLAR_SAYS_REDUCE("mean", "mean<0>(x | to<B, ...>)"));
  return {};
}

/// Returns the mean of all elements as a tensor without dims. Requires floating-point elements.
/// Communicates nothing: the result is P on axes that split x.
template <distributed X>
  requires(X::rank > 0 &&
           locally_applicable<detail::mean_rule<X::rank, detail::all_dim_bits<X>>, X>)
auto mean(X const& x) {
  return detail::mean_over<detail::all_dim_bits<X>>(x);
}
template <distributed X>
ill_formed mean(X const&) {
  static_assert(X::rank > 0, ASHLAR_SAYS_DIMENSIONS("mean"));
  static_assert(detail::matched_if<(X::rank > 0),
                                   detail::mean_rule<X::rank, detail::all_dim_bits<X>>, X>::fits,
                ASHLAR_SAYS_REDUCE("mean", "mean<0>(x | to<B, ...>)"));
  return {};
}

}  // namespace ashlar
