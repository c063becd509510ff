// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reductions over a dim, and transposition. Reducing over a split dim communicates nothing and
// gives a partial result. A program that needs the complete result writes `| to<B, ...>` after it.
//
//   sum<d>(x), max<d>(x), min<d>(x)   reduce over dim d, which is removed from the extents
//   sum(x)                            adds up all elements; the result is a tensor without dims
//   transpose(x)                      transposes a matrix; permute.hpp reorders any dims
//
// Sums are accumulated in accumulation_t<T> and rounded once. Integer sums wrap around. A maximum
// or minimum of values that include a NaN is NaN (device/host/combine.hpp). The order in which a
// sum adds its elements depends on the processor.

#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/elementwise.hpp>
#include <ashlar/tensor/lines.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

template <int Rank, int Dim, reduction Op>
struct reduce_rule {
  static constexpr char const* name = Op == reduction::sum   ? "sum"
                                      : Op == reduction::max ? "max"
                                                             : "min";
  static constexpr char const* sentence = Op == reduction::sum
                                              ? ASHLAR_SAYS_REDUCE("sum", "sum<0>(x | to<B, ...>)")
                                          : Op == reduction::max
                                              ? ASHLAR_SAYS_REDUCE("max", "max<0>(x | to<B, ...>)")
                                              : ASHLAR_SAYS_REDUCE("min", "min<0>(x | to<B, ...>)");
  static constexpr signature_table table() { return reduce_signatures(Rank, Dim, Op); }
};
struct transpose_rule {
  static constexpr char const* name = "transpose";
  // A rule must have a message. But every placement matches a row of this table, so the message
  // never appears.
  static constexpr char const* sentence = "no rule for this placement.";
  static constexpr signature_table table() { return transpose_signatures({1, 0}); }
};

template <int Dim, reduction Op, distributed X>
auto reduced(X const& x) {
  using T = typename X::value_type;
  auto const p = result_of<reduce_rule<X::rank, Dim, Op>>(x);
  auto y = empty<T, X::rank - 1>(x.mesh(), without_dim(x.extents(), Dim), p);
  lines const of(x, Dim);
  reduce_dim(x.mesh().processor(), x.mesh().memory(), Op, static_cast<T const*>(x.data()), of.outer,
             of.extent, of.inner, y.data());
  return y;
}

/// Returns the values of x as elements of type To, each rounded to nearest, at the same placement.
template <class To, distributed X>
auto converted(X const& x) {
  tensor<To, X::rank, typename X::placement_type, typename X::processor_type> y(
      x.mesh(), x.extents(), x.placement());
  convert(x.mesh().processor(), static_cast<typename X::value_type const*>(x.data()),
          x.local_elements(), y.data());
  return y;
}

}  // namespace detail

/// Returns the sum over dim Dim. Communicates nothing: the result is P on axes that split Dim.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> &&
           locally_applicable<detail::reduce_rule<X::rank, Dim, reduction::sum>, X>
auto sum(X const& x) {
  return detail::reduced<Dim, reduction::sum>(x);
}
template <int Dim, distributed X>
ill_formed sum(X const&) {
  static_assert(detail::has_dim<Dim, X>, ASHLAR_SAYS_DIMENSION("sum"));
  static_assert(detail::matched_if<detail::has_dim<Dim, X>,
                                   detail::reduce_rule<X::rank, Dim, reduction::sum>, X>::fits,
                ASHLAR_SAYS_REDUCE("sum", "sum<0>(x | to<B, ...>)"));
  return {};
}

/// Returns the maximum over dim Dim. Communicates nothing: the result is P(max) on axes that split
/// Dim.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> &&
           locally_applicable<detail::reduce_rule<X::rank, Dim, reduction::max>, X>
auto max(X const& x) {
  return detail::reduced<Dim, reduction::max>(x);
}
template <int Dim, distributed X>
ill_formed max(X const&) {
  static_assert(detail::has_dim<Dim, X>, ASHLAR_SAYS_DIMENSION("max"));
  static_assert(detail::matched_if<detail::has_dim<Dim, X>,
                                   detail::reduce_rule<X::rank, Dim, reduction::max>, X>::fits,
                ASHLAR_SAYS_REDUCE("max", "max<0>(x | to<B, ...>)"));
  return {};
}

/// Returns the minimum over dim Dim. Communicates nothing: the result is P(min) on axes that split
/// Dim.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> &&
           locally_applicable<detail::reduce_rule<X::rank, Dim, reduction::min>, X>
auto min(X const& x) {
  return detail::reduced<Dim, reduction::min>(x);
}
template <int Dim, distributed X>
ill_formed min(X const&) {
  static_assert(detail::has_dim<Dim, X>, ASHLAR_SAYS_DIMENSION("min"));
  static_assert(detail::matched_if<detail::has_dim<Dim, X>,
                                   detail::reduce_rule<X::rank, Dim, reduction::min>, X>::fits,
                ASHLAR_SAYS_REDUCE("min", "min<0>(x | to<B, ...>)"));
  return {};
}

/// Returns the sum of all elements as a tensor without dims, rounded once. Communicates nothing:
/// the result is P on axes that split x.
template <distributed X>
auto sum(X const& x) {
  using T = typename X::value_type;
  using A = accumulation_t<T>;
  if constexpr (!std::same_as<T, A>) return detail::converted<T>(sum(detail::converted<A>(x)));
  else if constexpr (X::rank == 0) return x;
  else return sum(sum<X::rank - 1>(x));
}

/// Returns the transposed matrix. Communicates nothing.
template <distributed X>
  requires(X::rank == 2)
auto transpose(X const& x) {
  auto const p = detail::result_of<detail::transpose_rule>(x);
  using T = typename X::value_type;
  auto y = empty<T, 2>(x.mesh(), shape{x.extents()[1], x.extents()[0]}, p);
  std::int64_t const extents[] = {x.local_size(0), x.local_size(1)};
  std::int64_t const from[] = {x.local_size(1), 1}, to_strides[] = {1, x.local_size(0)};
  copy_strided(x.mesh().processor(), 2, extents, static_cast<T const*>(x.data()), from, y.data(),
               to_strides);
  return y;
}
template <distributed X>
ill_formed transpose(X const&) {
  static_assert(detail::always_false<X>, ASHLAR_SAYS_TRANSPOSE);
  return {};
}

}  // namespace ashlar
