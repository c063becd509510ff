// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// argmax, argmin and the cumulative sum along a dim d. They communicate nothing. A line along d has
// the elements whose indices differ only in dim d.
//
//   argmax<d>(x), argmin<d>(x)   for each line along d: the index in the line of its largest or
//                                smallest element, as std::int32_t. If several elements are equal,
//                                the first counts. A NaN counts as the largest and the smallest.
//                                The result does not have dim d.
//   argmax(x), argmin(x)         the index of the largest or smallest element of x in row-major
//                                order, by the same rules
//   cumulative_sum<d>(x)         element k of each line along d becomes the sum of the line's
//                                elements 0 to k. On a device, the elements of a long line may be
//                                added in another order.
//
// The functions along a dim d refuse a split of d, and argmax(x) and argmin(x) refuse every split.
// From a part of a line, argmax and argmin would find an index in the shard, which is not the index
// in the tensor. For a cumulative sum, a rank would lack the sums of the ranks before it. Only
// cumulative_sum, which is linear, accepts a partial sum. The signature tables are in
// signature/along_dim.hpp.

#include <limits>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/along_dim.hpp>
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
template <reduction Op>
struct index_of_all_rule {
  static constexpr char const* name = Op == reduction::max ? "argmax" : "argmin";
  static constexpr char const* sentence = Op == reduction::max ? ASHLAR_SAYS_ARG_OF_ALL("argmax")
                                                               : ASHLAR_SAYS_ARG_OF_ALL("argmin");
  static constexpr signature_table table() { return index_of_extremum_signatures(); }
};
template <int Rank, int Dim>
struct cumulative_rule {
  static constexpr char const* name = "cumulative_sum";
  static constexpr char const* sentence = ASHLAR_SAYS_CUMULATIVE;
  static constexpr signature_table table() { return cumulative_sum_signatures(Rank, Dim); }
};

/// Throws ashlar::error if there are no elements to search, or too many for an index of
/// std::int32_t. `n` is their number, and `where` says where in x they are.
template <distributed X>
void check_indices(char const* name, X const& x, std::int64_t n, std::string const& where) {
  if (n == 0)
    throw error(name, describe(x) + " has no elements" + where + ", so there is none to point at.");
  if (n > std::numeric_limits<std::int32_t>::max())
    throw error(name,
                describe(x) + " has too many elements" + where + " for indices of std::int32_t.");
}

template <int Dim, reduction Op, distributed X>
auto index_of(X const& x) {
  using T = typename X::value_type;
  using rule = index_rule<X::rank, Dim, Op>;
  auto const p = result_of<rule>(x);
  auto const extents = without_dims(x.extents(), 1u << Dim);
  auto y = empty<std::int32_t, X::rank - 1>(x.mesh(), extents, p);
  auto const n = x.extents()[Dim];
  if (extents.elements() > 0) check_indices(rule::name, x, n, " along dim " + std::to_string(Dim));
  lines const of(x.local_extents(), Dim);
  index_of_extremum(x.mesh().processor(), Op, static_cast<T const*>(x.data()), of.outer, of.extent,
                    of.inner, y.data());
  return y;
}

template <reduction Op, distributed X>
auto index_of_all(X const& x) {
  using rule = index_of_all_rule<Op>;
  auto y = empty<std::int32_t, 0>(x.mesh(), {}, result_of<rule>(x));
  check_indices(rule::name, x, x.extents().elements(), "");
  auto const n = x.local_elements();  // 0 on ranks outside x's mesh, where nothing is searched
  index_of_extremum(x.mesh().processor(), Op, static_cast<typename X::value_type const*>(x.data()),
                    n > 0 ? 1 : 0, n, 1, y.data());
  return y;
}

}  // namespace detail

/// Returns the index of the first largest element of each line along dim Dim. Communicates nothing.
/// Throws ashlar::error if a line has no elements or too many for a std::int32_t, or if a run-time
/// placement matches no row of the table.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> &&
           locally_applicable<detail::index_rule<X::rank, Dim, reduction::max>, X>
auto argmax(X const& x) {
  return detail::index_of<Dim, reduction::max>(x);
}
template <int Dim, distributed X>
ill_formed argmax(X const&) {
  static_assert(detail::has_dim<Dim, X>, "argmax: " ASHLAR_SAYS_NO_DIMENSION);
  static_assert(detail::matched_if<detail::has_dim<Dim, X>,
                                   detail::index_rule<X::rank, Dim, reduction::max>, X>::fits,
                ASHLAR_SAYS_ARG("argmax"));
  return {};
}

/// Returns the index of the first smallest element of each line along dim Dim. Communicates
/// nothing. Throws in the same cases as argmax<Dim>.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> &&
           locally_applicable<detail::index_rule<X::rank, Dim, reduction::min>, X>
auto argmin(X const& x) {
  return detail::index_of<Dim, reduction::min>(x);
}
template <int Dim, distributed X>
ill_formed argmin(X const&) {
  static_assert(detail::has_dim<Dim, X>, "argmin: " ASHLAR_SAYS_NO_DIMENSION);
  static_assert(detail::matched_if<detail::has_dim<Dim, X>,
                                   detail::index_rule<X::rank, Dim, reduction::min>, X>::fits,
                ASHLAR_SAYS_ARG("argmin"));
  return {};
}

/// Returns the index of the first largest element of x, counted in row-major order. Communicates
/// nothing. Throws ashlar::error if x has no elements or too many for a std::int32_t, or if a
/// run-time placement matches no row of the table.
template <distributed X>
  requires locally_applicable<detail::index_of_all_rule<reduction::max>, X>
auto argmax(X const& x) {
  return detail::index_of_all<reduction::max>(x);
}
template <distributed X>
ill_formed argmax(X const&) {
  static_assert(detail::matched<detail::index_of_all_rule<reduction::max>, X>::fits,
                ASHLAR_SAYS_ARG_OF_ALL("argmax"));
  return {};
}

/// Returns the index of the first smallest element of x, counted in row-major order. Communicates
/// nothing. Throws in the same cases as argmax(x).
template <distributed X>
  requires locally_applicable<detail::index_of_all_rule<reduction::min>, X>
auto argmin(X const& x) {
  return detail::index_of_all<reduction::min>(x);
}
template <distributed X>
ill_formed argmin(X const&) {
  static_assert(detail::matched<detail::index_of_all_rule<reduction::min>, X>::fits,
                ASHLAR_SAYS_ARG_OF_ALL("argmin"));
  return {};
}

/// Returns the cumulative sums along dim Dim: element k of a line is the sum of the elements 0 to k
/// of this line of x. On the host they are added in this order. Each sum is rounded once.
/// Communicates nothing. Throws ashlar::error if a run-time placement matches no row of the table.
template <int Dim, distributed X>
  requires detail::has_dim<Dim, X> && locally_applicable<detail::cumulative_rule<X::rank, Dim>, X>
auto cumulative_sum(X const& x) {
  using T = typename X::value_type;
  auto const p = detail::result_of<detail::cumulative_rule<X::rank, Dim>>(x);
  auto y = empty<T, X::rank>(x.mesh(), x.extents(), p);
  detail::lines const of(x.local_extents(), Dim);
  cumulative_sum(x.mesh().processor(), x.mesh().memory(), static_cast<T const*>(x.data()), of.outer,
                 of.extent, of.inner, false, y.data());
  return y;
}
template <int Dim, distributed X>
ill_formed cumulative_sum(X const&) {
  static_assert(detail::has_dim<Dim, X>, "cumulative_sum: " ASHLAR_SAYS_NO_DIMENSION);
  static_assert(
      detail::matched_if<detail::has_dim<Dim, X>, detail::cumulative_rule<X::rank, Dim>, X>::fits,
      ASHLAR_SAYS_CUMULATIVE);
  return {};
}

}  // namespace ashlar
