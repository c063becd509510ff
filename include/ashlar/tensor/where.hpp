// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// where(mask, x, y): the elements of x where the mask is not 0, and those of y elsewhere. x or y
// may be a number. The mask may have any element type. Nothing is communicated.
//
//   where(x < y, x, y)   where(mask, x, 0)   where(mask, 1, y)
//
// Each operand may be repeated along dims of the result, as in where(padded, x, 0) for a mask of
// one row. The dims are matched from the last one on (signature/dim_letters.hpp). An operand that
// is repeated is copied to the extents of the result first.
//
// On each mesh axis, all operands have the same split or all are B; an operand that is repeated
// along the split dim is B. If the mask is B, x and y may also both be partial sums, since the
// result is linear in x and y together. If one of them is a number, the other may not be a partial
// sum: each addend would get the number. The signature tables, also for partial maxima and minima,
// are in signature/selection.hpp.

#include <algorithm>
#include <string>
#include <string_view>

#include <ashlar/device/elements_or_number.hpp>
#include <ashlar/signature/selection.hpp>
#include <ashlar/tensor/apply_rule.hpp>
#include <ashlar/tensor/scalar_operators.hpp>

namespace ashlar {
namespace detail {

/// The rule of where(mask, x, y). `Ranks` has the numbers of dims of the operands that are tensors:
/// of all three, or of two if x or y is a number.
template <int... Ranks>
struct where_rule {
  static constexpr int rank = std::max({Ranks...});
  static constexpr char const* name = "where";
  static constexpr char const* sentence = ASHLAR_SAYS_WHERE;
  template <class... Letters>
  static constexpr signature_table table_for(Letters... of) {
    if constexpr (sizeof...(Ranks) == 3) return where_signatures(of..., letters(rank));
    else return where_number_signatures(of..., letters(rank));
  }
  static constexpr signature_table table() { return table_for(last_letters(Ranks, rank)...); }
};
template <class... Operands>
using where_rule_for = where_rule<Operands::rank...>;

/// Holds if Mask can be the mask for a tensor of type X: it is on the same type of processor. Its
/// elements may have any type.
template <class Mask, class X>
concept mask_for = distributed<Mask> && distributed<X> &&
                   std::same_as<typename Mask::processor_type, typename X::processor_type>;

/// Returns the extents of where(mask, operands..). Throws ashlar::error if two extents of a dim
/// differ and neither is 1.
template <distributed Mask, distributed... Operands>
shape extents_of_where(Mask const& mask, Operands const&... operands) {
  shape extents = mask.extents();
  auto const match = [&](auto const& operand) {
    auto const dims = match_dims(extents, operand.extents());
    extents = dims.extents;
    return dims.failing_dim < 0;
  };
  if (!(match(operands) && ...)) {
    std::string all = describe(mask);
    ((all += ", " + describe(operands)), ...);
    throw error("where", "the extents differ: " + all + ".");
  }
  return extents;
}

/// Returns write(p), where p is the placement of the result of `Rule`.
template <class Rule, class Write, distributed... Operands>
auto where_at(shape const& extents, Write const& write, Operands const&... operands) {
  if constexpr (((Operands::rank == Rule::rank) && ...))
    if (((operands.extents() == extents) && ...)) return write(result_of<Rule>(operands...));
  auto const value = result_value<Rule>(
      Rule::table_for(repeated_letters(operands.extents(), extents).view()...), operands...);
  // For typed operands, the compiler finds the same placement from their types.
  if constexpr (all_static<Operands...>) return write(result_of<Rule>(operands...));
  else return write(value);
}

/// Returns x, an operand of where(), repeated to the extents of the shard of the result z.
template <distributed X, distributed Z>
spread_operand<typename X::value_type> spread_to(X const& x, Z const& z) {
  typename spread_operand<typename X::value_type>::index extents{};
  for (int d = 0; d < Z::rank; ++d) extents[static_cast<std::size_t>(d)] = z.local_size(d);
  return {z.mesh(), Z::rank, extents, x.data(),
          repeated_strides(repeated_letters(x.extents(), z.extents()), Z::rank,
                           [&](int d) { return x.local_size(d); })};
}

/// Writes x(i) to element i of z's shard where the mask is not 0, and y(i) elsewhere.
template <distributed Mask, distributed Z, class T>
void select_into(Mask const& mask, Z const& z, device::elements_or_number<T> const& x,
                 device::elements_or_number<T> const& y) {
  auto const chosen = spread_to(mask, z);
  select_elements(z.mesh().processor(), chosen.data(), x, y, z.local_elements(), z.data());
}

/// Returns where(mask, x, a), or where(mask, a, x) if `Swapped`.
template <bool Swapped, distributed Mask, distributed X>
auto where_number(Mask const& mask, X const& x, accumulation_t<typename X::value_type> a) {
  using T = typename X::value_type;
  using rule = where_rule_for<Mask, X>;
  auto const extents = extents_of_where(mask, x);
  auto const write = [&](auto const& p) {
    auto z = empty<T, rule::rank>(x.mesh(), extents, p);
    auto const values = spread_to(x, z);
    device::elements_or_number<T> const elements{values.data()}, number{nullptr, static_cast<T>(a)};
    select_into(mask, z, Swapped ? number : elements, Swapped ? elements : number);
    return z;
  };
  return where_at<rule>(extents, write, mask, x);
}

}  // namespace detail

/// Returns a tensor of x[i] where mask[i] is not 0, and of y[i] elsewhere. Communicates nothing.
/// Throws ashlar::error if the extents do not match, or if run-time placements match no row of the
/// table.
template <distributed Mask, distributed X, distributed Y>
  requires detail::mask_for<Mask, X> && detail::combinable<X, Y> &&
           locally_applicable<detail::where_rule_for<Mask, X, Y>, Mask, X, Y>
auto where(Mask const& mask, X const& x, Y const& y) {
  using T = typename X::value_type;
  using rule = detail::where_rule_for<Mask, X, Y>;
  auto const extents = detail::extents_of_where(mask, x, y);
  auto const write = [&](auto const& p) {
    auto z = empty<T, rule::rank>(x.mesh(), extents, p);
    auto const left = detail::spread_to(x, z), right = detail::spread_to(y, z);
    detail::select_into(mask, z, device::elements_or_number<T>{left.data()},
                        device::elements_or_number<T>{right.data()});
    return z;
  };
  return detail::where_at<rule>(extents, write, mask, x, y);
}

/// Returns a tensor of x[i] where mask[i] is not 0, and of the number a elsewhere. Communicates
/// nothing. Throws ashlar::error if the extents or the run-time placements do not fit.
template <distributed Mask, distributed X, class Scalar>
  requires detail::mask_for<Mask, X> && detail::scalar_for<Scalar, X> &&
           locally_applicable<detail::where_rule_for<Mask, X>, Mask, X>
auto where(Mask const& mask, X const& x, Scalar const& a) {
  static_assert(detail::keeps_fraction<Scalar, X>, ASHLAR_SAYS_FRACTION("where"));
  return detail::where_number<false>(mask, x,
                                     static_cast<accumulation_t<typename X::value_type>>(a));
}

/// Returns a tensor of the number a where mask[i] is not 0, and of y[i] elsewhere. Communicates
/// nothing. Throws ashlar::error if the extents or the run-time placements do not fit.
template <distributed Mask, class Scalar, distributed Y>
  requires detail::mask_for<Mask, Y> && detail::scalar_for<Scalar, Y> &&
           locally_applicable<detail::where_rule_for<Mask, Y>, Mask, Y>
auto where(Mask const& mask, Scalar const& a, Y const& y) {
  static_assert(detail::keeps_fraction<Scalar, Y>, ASHLAR_SAYS_FRACTION("where"));
  return detail::where_number<true>(mask, y,
                                    static_cast<accumulation_t<typename Y::value_type>>(a));
}

namespace detail {
/// Holds if where() accepts operands of these types, whatever their placements.
template <class Mask, class X, class Y>
concept where_operands = (mask_for<Mask, X> && (combinable<X, Y> || scalar_for<Y, X>)) ||
                         (mask_for<Mask, Y> && scalar_for<X, Y>);
}  // namespace detail

template <distributed Mask, class X, class Y>
  requires(distributed<X> || distributed<Y>)
ill_formed where(Mask const&, X const&, Y const&) {
  static_assert(detail::where_operands<Mask, X, Y>, ASHLAR_SAYS_WHERE_OPERANDS);
  if constexpr (detail::where_operands<Mask, X, Y>) {
    if constexpr (!distributed<X>)
      static_assert(detail::matched<detail::where_rule_for<Mask, Y>, Mask, Y>::fits,
                    ASHLAR_SAYS_WHERE);
    else if constexpr (!distributed<Y>)
      static_assert(detail::matched<detail::where_rule_for<Mask, X>, Mask, X>::fits,
                    ASHLAR_SAYS_WHERE);
    else
      static_assert(detail::matched<detail::where_rule_for<Mask, X, Y>, Mask, X, Y>::fits,
                    ASHLAR_SAYS_WHERE);
  }
  return {};
}

}  // namespace ashlar
