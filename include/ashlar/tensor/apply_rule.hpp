// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs an element-wise function on the shards of tensors whose placements a rule accepts
// (local_rule.hpp). The operators of elementwise.hpp, scalar_operators.hpp, in_place.hpp,
// functions.hpp, compare.hpp and extremum.hpp call these functions. Nothing here communicates.
//
//   apply<Rule>(x, f)              a new tensor with f(x[i]) for each element x[i]
//   apply<Rule>(x, y, f)           a new tensor with f(x[i], y[i]); each operand may be repeated
//                                  along dims of the other (repeated.hpp)
//   apply_in_place<Rule>(x, f)     writes f(x[i]) to x[i]
//   apply_in_place<Rule>(x, y, f)  writes f(x[i], y[i]) to x[i]; y may be repeated

#include <functional>

#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/elementwise.hpp>
#include <ashlar/tensor/repeated.hpp>

namespace ashlar::detail {

template <class X, class Y>
concept alike = distributed<X> && distributed<Y> && X::rank == Y::rank &&
                std::same_as<typename X::value_type, typename Y::value_type> &&
                std::same_as<typename X::processor_type, typename Y::processor_type>;

template <distributed X, distributed Y>
void same_extents(char const* name, X const& x, Y const& y) {
  if (!(x.extents() == y.extents()))
    throw error(name, "the extents differ: " + describe(x) + " and " + describe(y) + ".");
}

template <class Rule, distributed X, class F>
auto apply(X const& x, F const& f) {
  auto const p = result_of<Rule>(x);
  using T = typename X::value_type;
  auto y = empty<T, X::rank>(x.mesh(), x.extents(), p);
  map(x.mesh().processor(), f, static_cast<T const*>(x.data()), x.local_elements(), y.data());
  return y;
}

template <class Rule, distributed X, distributed Y, class F>
auto apply(X const& x, Y const& y, F const& f) {
  using T = typename X::value_type;
  constexpr int rank = X::rank > Y::rank ? X::rank : Y::rank;
  if constexpr (X::rank == Y::rank) {
    if (x.extents() == y.extents()) {
      auto const p = result_of<Rule>(x, y);
      auto z = empty<T, rank>(x.mesh(), x.extents(), p);
      map(x.mesh().processor(), f, static_cast<T const*>(x.data()), static_cast<T const*>(y.data()),
          x.local_elements(), z.data());
      return z;
    }
  }
  auto const dims = match_operands(Rule::name, x, y);
  auto const value = repeated_result<Rule>(dims, x, y);
  auto const write = [&](auto const& p) {
    auto z = empty<T, rank>(x.mesh(), dims.extents, p);
    write_repeated(dims, x, y, f, z);
    return z;
  };
  // `value` is the placement of the result, found from the extents at run time. For typed operands,
  // the compiler finds the same placement from their types.
  if constexpr (all_static<X, Y>) return write(result_of<Rule>(x, y));
  else return write(value);
}

template <class Rule, distributed X, class F>
X& apply_in_place(X& x, F const& f) {
  result_of<Rule>(x);
  using T = typename X::value_type;
  map(x.mesh().processor(), f, static_cast<T const*>(x.data()), x.local_elements(), x.data());
  return x;
}

/// Returns whether two shards have some elements in common but do not begin at the same element, as
/// slices of one tensor may. The loops over the elements require identical or disjoint arrays.
template <distributed X, distributed Y>
bool overlap(X const& x, Y const& y) {
  auto const before = std::less<void const*>();
  return x.data() != y.data() && before(x.data(), y.data() + y.local_elements()) &&
         before(y.data(), x.data() + x.local_elements());
}

template <class Rule, distributed X, distributed Y, class F>
X& apply_in_place(X& x, Y const& y, F const& f) {
  using T = typename X::value_type;
  if constexpr (X::rank == Y::rank) {
    if (x.extents() == y.extents()) {
      result_of<Rule>(x, y);
      auto const write = [&](Y const& right) {
        map(x.mesh().processor(), f, static_cast<T const*>(x.data()),
            static_cast<T const*>(right.data()), x.local_elements(), x.data());
      };
      if (overlap(x, y)) write(y.clone());
      else write(y);
      return x;
    }
  }
  auto const dims = match_operands(Rule::name, x, y);
  if (!(dims.extents == x.extents()))
    throw error(Rule::name, "the extents differ: " + describe(x) + " cannot become " +
                                to_string(dims.extents) + ", as it is with " + describe(y) + ".");
  repeated_result<Rule>(dims, x, y);
  if (overlap(x, y) || x.data() == y.data()) write_repeated(dims, x, y.clone(), f, x);
  else write_repeated(dims, x, y, f, x);
  return x;
}

}  // namespace ashlar::detail
