// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Gives a tensor other extents, with the same elements in the same row-major order. A reshape moves
// nothing, and the result shares the shard of the operand. If elements would have to move between
// ranks, reshape throws an error. The error says which redistribution before or after the reshape
// leads to the result.
//
//   reshape(x, {6, 8})              tensor<…, dynamic>: finds the placement of the result
//   reshape<sbp<S<0>>>(x, {6, 8})   typed: throws unless the result can have this placement
//
// layout/reshape.hpp decides which reshapes need no communication. split_axis.hpp and
// merge_axes.hpp are reshapes that divide one dim or merge neighbouring dims.

#include <ashlar/layout/reshape.hpp>
#include <ashlar/plan/nearest.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

/// Returns advice for the error message of a reshape that would move elements between ranks: which
/// redistributions to use before or after it. `wanted` is the placement that the caller gave for
/// the result, if any.
inline std::string reshape_advice(shape const& from, placement const& p, shape const& to,
                                  std::optional<placement> const& wanted, int element_size,
                                  topology const& t, machine const& m) {
  std::string const then = wanted ? ", and redistribute that to " + to_string(*wanted) : "";
  if (wanted) {
    if (auto const other = reshape_placement(from, to, t, p))
      return "Nothing moves if the result has placement " + to_string(*other) +
             ": reshape it to that placement" + then + ".";
    if (auto const source = reshape_placement(to, from, t, *wanted);
        source && same_partials(p, *wanted))
      return "Redistribute it to " + to_string(*source) + " first.";
  }
  // A tensor that no axis splits can always be reshaped, so there is a nearest placement.
  auto const nearest = *nearest_placement(from, element_size, p, t, m, [&](placement const& q) {
    return reshape_placement(from, to, t, q).has_value();
  });
  return "Redistribute it to " + to_string(nearest) + " first; the result then has placement " +
         to_string(*reshape_placement(from, to, t, nearest)) + then + ".";
}

/// Returns the placement of x after a reshape to `extents` that moves no elements between ranks. If
/// `wanted` is given, only this placement is tried. Otherwise `preferred` is tried first, if it is
/// given, and then the placement that reshape_placement finds. Throws ashlar::error if no such
/// placement is found, or if x or `wanted` is owned, or x is routed.
template <distributed X>
placement reshaped_placement(char const* operation, X const& x, shape const& extents,
                             std::optional<placement> const& wanted,
                             std::optional<placement> const& preferred) {
  auto const& m = x.mesh();
  auto const p = x.placement();
  refuse_owned_or_routed(operation, x.extents(), p);
  if (wanted) refuse_owned_result(operation, *wanted);
  check_extents(extents, operation);
  auto const what = [&] { return describe(x) + " to " + to_string(extents); };
  if (x.extents().elements() != extents.elements())
    throw error(operation, what() + ": " + std::to_string(x.extents().elements()) +
                               " elements do not fill " + std::to_string(extents.elements()) + ".");
  if (wanted) {
    if (char const* const wrong = check(*wanted, extents.rank(), m.topology()))
      throw error(operation, what() + " as " + to_string(*wanted) + ": " + wrong);
    if (reshapes_locally(x.extents(), p, extents, *wanted, m.topology())) return *wanted;
  } else {
    if (preferred && reshapes_locally(x.extents(), p, extents, *preferred, m.topology()))
      return *preferred;
    if (auto const q = reshape_placement(x.extents(), extents, m.topology(), p)) return *q;
  }
  throw error(operation, what() + (wanted ? " as " + to_string(*wanted) : "") +
                             ": elements would have to move between ranks. " +
                             reshape_advice(x.extents(), p, extents, wanted,
                                            static_cast<int>(sizeof(typename X::value_type)),
                                            m.topology(), m.machine()));
}

/// Returns x reshaped to `extents`. The result shares the shard of x. `Result` is the placement
/// parameter of the returned type: dynamic, or an sbp<…> that states the wanted placement.
template <class Result, int Rank, distributed X>
auto reshaped(char const* operation, X const& x, shape const& extents,
              std::optional<placement> const& preferred = {}) {
  std::optional<placement> wanted;
  if constexpr (static_placement<Result>) wanted = value_of<Result>;
  auto const p = reshaped_placement(operation, x, extents, wanted, preferred);
  return tensor<typename X::value_type, Rank, Result, typename X::processor_type>(x.mesh(), extents,
                                                                                  p, x.shard());
}

/// Returns whether X and Result have the same number of mesh axes. For a dynamic X it returns true,
/// and the check is made at run time.
template <class Result, distributed X>
constexpr bool reshape_keeps_axes() {
  if constexpr (X::is_static) return static_value<X>.axes() == Result::axes;
  else return true;
}
/// Returns whether X and Result are partial on the same axes. For a dynamic X it returns true, and
/// the check is made at run time.
template <class Result, distributed X>
constexpr bool reshape_keeps_partials() {
  if constexpr (X::is_static) return same_partials(static_value<X>, value_of<Result>);
  else return true;
}

}  // namespace detail

/// Returns x with other extents, at the placement that reshape_placement finds. Communicates
/// nothing. The result shares the shard of x. Throws ashlar::error if the numbers of elements
/// differ or elements would have to move between ranks.
template <distributed X, int Rank>
  requires(Rank <= max_rank)
auto reshape(X const& x, std::int64_t const (&extents)[Rank]) {
  return detail::reshaped<dynamic, Rank>("reshape", x, detail::shape_of(extents));
}
template <distributed X, int Rank>
ill_formed reshape(X const&, std::int64_t const (&)[Rank]) {
  static_assert(detail::always_false<X>, "reshape: " ASHLAR_SAYS_RANK);
  return {};
}

/// Returns x with other extents, at placement Result. Communicates nothing. The result shares the
/// shard of x. Requires that Result has one placement per mesh axis, splits only existing dims, and
/// is partial on the same axes as x. Throws ashlar::error if the numbers of elements differ or
/// elements would have to move between ranks.
template <static_placement Result, distributed X, int Rank>
  requires(Rank <= max_rank && detail::fits<Result, Rank>() &&
           detail::reshape_keeps_axes<Result, X>() && detail::reshape_keeps_partials<Result, X>())
auto reshape(X const& x, std::int64_t const (&extents)[Rank]) {
  return detail::reshaped<canonical<Result>, Rank>("reshape", x, detail::shape_of(extents));
}
template <static_placement Result, distributed X, int Rank>
ill_formed reshape(X const&, std::int64_t const (&)[Rank]) {
  static_assert(Rank <= max_rank, "reshape: " ASHLAR_SAYS_RANK);
  static_assert(detail::fits<Result, Rank>(), "reshape: " ASHLAR_SAYS_PLACEMENT);
  static_assert(detail::reshape_keeps_axes<Result, X>(), ASHLAR_SAYS_RESHAPE_AXES);
  static_assert(!detail::reshape_keeps_axes<Result, X>() ||
                    detail::reshape_keeps_partials<Result, X>(),
                ASHLAR_SAYS_RESHAPE_PARTIAL);
  return {};
}

}  // namespace ashlar
