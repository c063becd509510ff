// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// item(x): the value of a tensor that has one element, as an ordinary number.

#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

struct item_rule {
  static constexpr char const* name = "item";
  static constexpr char const* sentence = ASHLAR_SAYS_ITEM;
  static constexpr signature_table table() {
    signature_table rows;
    rows.push_back({{broadcast()}, broadcast()});
    return rows;
  }
};

}  // namespace detail

/// Returns the only element of x. Requires that x is B on every axis, so that every rank has the
/// element. On a device, waits for pending computations on x. On ranks outside of the mesh, returns
/// 0. Communicates nothing. Throws ashlar::error if x does not have exactly one element, or if its
/// run-time placement is not B on every axis.
template <distributed X>
  requires locally_applicable<detail::item_rule, X>
typename X::value_type item(X const& x) {
  detail::result_of<detail::item_rule>(x);
  if (x.extents().elements() != 1)
    throw error("item", describe(x) + " has " + std::to_string(x.extents().elements()) +
                            " elements, not one. Read its values with to_full(x).");
  if (!x.mesh().is_here()) return {};
  return local_values(x).front();
}
template <distributed X>
ill_formed item(X const&) {
  static_assert(detail::matched<detail::item_rule, X>::fits, ASHLAR_SAYS_ITEM);
  return {};
}

}  // namespace ashlar
