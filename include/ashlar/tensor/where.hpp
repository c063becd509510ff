// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// where(mask, x, y): the elements of x where the mask is not 0, and those of y elsewhere. x or y
// may be a number. The mask may have any element type. Nothing is communicated. where runs on the
// host only.
//
//   where(x < y, x, y)   where(mask, x, 0)   where(mask, 1, y)
//
// On each mesh axis, all operands have the same split or all are B. If the mask is B, x and y may
// also both be partial sums, since the result is linear in x and y together. If one of them is a
// number, the other may not be partial: each addend would get the number. The signature tables,
// also for partial maxima and minima, are in signature/selection.hpp.

#include <ashlar/signature/selection.hpp>
#include <ashlar/tensor/apply_rule.hpp>
#include <ashlar/tensor/scalar_operators.hpp>

namespace ashlar {
namespace detail {

template <int Rank>
struct where_rule {
  static constexpr char const* name = "where";
  static constexpr char const* sentence = ASHLAR_SAYS_WHERE;
  static constexpr signature_table table() { return where_signatures(Rank); }
};
template <int Rank>
struct where_number_rule {
  static constexpr char const* name = "where";
  static constexpr char const* sentence = ASHLAR_SAYS_WHERE;
  static constexpr signature_table table() { return alike_signatures(Rank); }
};

/// Holds if Mask can be the mask for a tensor of type X: it has as many dims and is on the same
/// type of processor. Its elements may have any type.
template <class Mask, class X>
concept mask_for = distributed<Mask> && distributed<X> && Mask::rank == X::rank &&
                   std::same_as<typename Mask::processor_type, typename X::processor_type>;

/// Writes x(i) to element i of z's shard where the mask is not 0, and y(i) elsewhere.
template <distributed Mask, distributed Z, class X, class Y>
void choose(Mask const& mask, Z const& z, X x, Y y) {
  static_assert(Z::processor_type::is_host, ASHLAR_SAYS_ON_HOST("where"));
  using T = typename Z::value_type;
  using M = typename Mask::value_type;
  M const* const chosen = mask.data();
  T* const out = z.data();
  for (std::int64_t i = 0; i < z.local_elements(); ++i)
    out[i] = chosen[i] != static_cast<M>(0) ? x(i) : y(i);
}

/// Returns where(mask, x, a), or where(mask, a, x) if `Swapped`.
template <bool Swapped, distributed Mask, distributed X>
auto where_number(Mask const& mask, X const& x, accumulation_t<typename X::value_type> a) {
  using T = typename X::value_type;
  auto const p = result_of<where_number_rule<X::rank>>(mask, x);
  same_extents("where", mask, x);
  auto z = empty<T, X::rank>(x.mesh(), x.extents(), p);
  T const* const values = x.data();
  auto const element = [=](std::int64_t i) { return values[i]; };
  auto const number = [v = static_cast<T>(a)](std::int64_t) { return v; };
  if constexpr (Swapped) choose(mask, z, number, element);
  else choose(mask, z, element, number);
  return z;
}

}  // namespace detail

/// Returns a tensor of x[i] where mask[i] is not 0, and of y[i] elsewhere. Communicates nothing.
/// Throws ashlar::error if the extents differ, or if run-time placements match no row of the table.
template <distributed Mask, distributed X, distributed Y>
  requires detail::mask_for<Mask, X> && detail::alike<X, Y> &&
           locally_applicable<detail::where_rule<X::rank>, Mask, X, Y>
auto where(Mask const& mask, X const& x, Y const& y) {
  using T = typename X::value_type;
  auto const p = detail::result_of<detail::where_rule<X::rank>>(mask, x, y);
  detail::same_extents("where", mask, x);
  detail::same_extents("where", x, y);
  auto z = empty<T, X::rank>(x.mesh(), x.extents(), p);
  T const *const left = x.data(), *const right = y.data();
  detail::choose(
      mask, z, [=](std::int64_t i) { return left[i]; }, [=](std::int64_t i) { return right[i]; });
  return z;
}

/// Returns a tensor of x[i] where mask[i] is not 0, and of the number a elsewhere. Communicates
/// nothing. Throws ashlar::error if the extents or the run-time placements do not fit.
template <distributed Mask, distributed X, class Scalar>
  requires detail::mask_for<Mask, X> && detail::scalar_for<Scalar, X> &&
           locally_applicable<detail::where_number_rule<X::rank>, Mask, X>
auto where(Mask const& mask, X const& x, Scalar const& a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("where"));
  return detail::where_number<false>(mask, x,
                                     static_cast<accumulation_t<typename X::value_type>>(a));
}

/// Returns a tensor of the number a where mask[i] is not 0, and of y[i] elsewhere. Communicates
/// nothing. Throws ashlar::error if the extents or the run-time placements do not fit.
template <distributed Mask, class Scalar, distributed Y>
  requires detail::mask_for<Mask, Y> && detail::scalar_for<Scalar, Y> &&
           locally_applicable<detail::where_number_rule<Y::rank>, Mask, Y>
auto where(Mask const& mask, Scalar const& a, Y const& y) {
  static_assert(detail::keeps_fraction<Scalar, Y>, ASHLAR_SAYS_FRACTION("where"));
  return detail::where_number<true>(mask, y,
                                    static_cast<accumulation_t<typename Y::value_type>>(a));
}

namespace detail {
/// Holds if where accepts operands of these types, whatever their placements.
template <class Mask, class X, class Y>
concept where_operands = (mask_for<Mask, X> && (alike<X, Y> || scalar_for<Y, X>)) ||
                         (mask_for<Mask, Y> && scalar_for<X, Y>);
}  // namespace detail

template <distributed Mask, class X, class Y>
  requires(distributed<X> || distributed<Y>)
ill_formed where(Mask const&, X const&, Y const&) {
  static_assert(detail::where_operands<Mask, X, Y>, ASHLAR_SAYS_WHERE_OPERANDS);
  static_assert(detail::matched_if<(detail::mask_for<Mask, X> && detail::alike<X, Y>),
                                   detail::where_rule<Mask::rank>, Mask, X, Y>::fits,
                ASHLAR_SAYS_WHERE);
  static_assert(detail::matched_if<(detail::mask_for<Mask, X> && detail::scalar_for<Y, X>),
                                   detail::where_number_rule<Mask::rank>, Mask, X>::fits,
                ASHLAR_SAYS_WHERE);
  static_assert(detail::matched_if<(detail::mask_for<Mask, Y> && detail::scalar_for<X, Y>),
                                   detail::where_number_rule<Mask::rank>, Mask, Y>::fits,
                ASHLAR_SAYS_WHERE);
  return {};
}

}  // namespace ashlar
