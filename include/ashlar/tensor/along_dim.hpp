// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// argmax, argmin and the cumulative sum along a dim d. They communicate nothing, and run on the
// host only.
//
//   argmax<d>(x), argmin<d>(x)   the index of the first largest or smallest element of each line
//                                along d, as std::int32_t; of the first NaN if the line has one.
//                                The result does not have dim d.
//   cumulative_sum<d>(x)         element k of each line along d becomes the sum of the line's
//                                elements 0 to k
//
// A split of dim d is refused: argmax and argmin would find an index in the shard, which is not the
// index in the tensor, and for a cumulative sum a rank lacks the sums of the ranks before it. Only
// cumulative_sum, which is linear, accepts a partial sum. The signature tables are in
// signature/along_dim.hpp.

#include <limits>

#include <ashlar/device/host/along_dim.hpp>
#include <ashlar/signature/along_dim.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/lines.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

template <int Rank, int Dim, reduction Op>
struct index_rule {
  static constexpr char const* name = Op == reduction::max ? "argmax" : "argmin";
  static constexpr char const* sentence = Op == reduction::max ? ASHLAR_SAYS_ARG("argmax")
                                                               : ASHLAR_SAYS_ARG("argmin");
  static constexpr signature_table table() { return index_of_extremum_signatures(Rank, Dim); }
};
template <int Rank, int Dim>
struct cumulative_rule {
  static constexpr char const* name = "cumulative_sum";
  static constexpr char const* sentence = ASHLAR_SAYS_CUMULATIVE;
  static constexpr signature_table table() { return cumulative_sum_signatures(Rank, Dim); }
};

template <int Dim, reduction Op, distributed X>
auto index_of(X const& x) {
  using T = typename X::value_type;
  using rule = index_rule<X::rank, Dim, Op>;
  static_assert(X::processor_type::is_host, ASHLAR_SAYS_ON_HOST("argmax, argmin"));
  auto const p = result_of<rule>(x);
  auto const extents = without_dims(x.extents(), 1u << Dim);
  auto y = empty<std::int32_t, X::rank - 1>(x.mesh(), extents, p);
  auto const n = x.extents()[Dim];
  if (n == 0 && extents.elements() > 0)
    throw error(rule::name, describe(x) + " has no elements along dim " + std::to_string(Dim) +
                                ", so there is none to point at.");
  if (n > std::numeric_limits<std::int32_t>::max())
    throw error(rule::name, "dim " + std::to_string(Dim) + " of " + describe(x) +
                                " is too long for indices of std::int32_t.");
  lines const of(x.local_extents(), Dim);
  device::host::index_of_extremum<Op>(static_cast<T const*>(x.data()), of.outer, of.extent,
                                      of.inner, y.data());
  return y;
}

}  // namespace detail

/// Returns the index of the first largest element of each line along dim Dim. Communicates nothing.
/// Throws ashlar::error if the lines have no elements, or if a run-time placement matches no row of
/// the table.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> &&
           locally_applicable<detail::index_rule<X::rank, Dim, reduction::max>, X>
auto argmax(X const& x) {
  return detail::index_of<Dim, reduction::max>(x);
}
template <int Dim, distributed X>
ill_formed argmax(X const&) {
  static_assert(detail::has_dim<Dim, X>, ASHLAR_SAYS_DIMENSION("argmax"));
  static_assert(detail::matched_if<detail::has_dim<Dim, X>,
                                   detail::index_rule<X::rank, Dim, reduction::max>, X>::fits,
                ASHLAR_SAYS_ARG("argmax"));
  return {};
}

/// Returns the index of the first smallest element of each line along dim Dim. Communicates
/// nothing. Throws like argmax.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> &&
           locally_applicable<detail::index_rule<X::rank, Dim, reduction::min>, X>
auto argmin(X const& x) {
  return detail::index_of<Dim, reduction::min>(x);
}
template <int Dim, distributed X>
ill_formed argmin(X const&) {
  static_assert(detail::has_dim<Dim, X>, ASHLAR_SAYS_DIMENSION("argmin"));
  static_assert(detail::matched_if<detail::has_dim<Dim, X>,
                                   detail::index_rule<X::rank, Dim, reduction::min>, X>::fits,
                ASHLAR_SAYS_ARG("argmin"));
  return {};
}

/// Returns the cumulative sums along dim Dim: element k of a line is the sum of the elements 0 to k
/// of this line of x, added in this order and rounded once. Communicates nothing. Throws
/// ashlar::error if a run-time placement matches no row of the table.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> && locally_applicable<detail::cumulative_rule<X::rank, Dim>, X>
auto cumulative_sum(X const& x) {
  using T = typename X::value_type;
  static_assert(X::processor_type::is_host, ASHLAR_SAYS_ON_HOST("cumulative_sum"));
  auto const p = detail::result_of<detail::cumulative_rule<X::rank, Dim>>(x);
  auto y = empty<T, X::rank>(x.mesh(), x.extents(), p);
  detail::lines const of(x.local_extents(), Dim);
  buffer<accumulation_t<T>> const sums(x.mesh().memory(), of.inner);
  device::host::cumulative_sum(static_cast<T const*>(x.data()), of.outer, of.extent, of.inner,
                               sums.data(), y.data());
  return y;
}
template <int Dim, distributed X>
ill_formed cumulative_sum(X const&) {
  static_assert(detail::has_dim<Dim, X>, ASHLAR_SAYS_DIMENSION("cumulative_sum"));
  static_assert(
      detail::matched_if<detail::has_dim<Dim, X>, detail::cumulative_rule<X::rank, Dim>, X>::fits,
      ASHLAR_SAYS_CUMULATIVE);
  return {};
}

}  // namespace ashlar
