// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Products of a matrix and a vector. They communicate nothing. Each entry of the table gives the
// placements of the two operands and of the result on one mesh axis (signature/contraction.hpp):
//
//   matmul(a, x)   a x     S(0), B -> S(0)   S(1), S(0) -> P   B, B -> B   P, B -> P   B, P -> P
//   matmul(x, a)   x^T a   B, S(1) -> S(0)   S(0), S(0) -> P   B, B -> B   P, B -> P   B, P -> P
//
// The matrix may be transposed(a), which makes no copy. There is no form that takes the placement
// of the result, as the product of two matrices has: redistribute an operand first.

#include <string>

#include <ashlar/tensor/gemm_in_strips.hpp>
#include <ashlar/tensor/matmul.hpp>

namespace ashlar {
namespace detail {

template <bool VectorFirst, bool Transposed>
struct matvec_rule {
  static constexpr char const* name = "matmul";
  static constexpr signature_table table() { return matvec_signatures(VectorFirst, Transposed); }
  static constexpr matmul_fault fault_of(placement const& left, placement const& right) {
    if (left.axes() != right.axes()) return matmul_fault::axes;
    for (int i = 0; i < left.axes(); ++i)
      if (left[i].is_partial() && right[i].is_partial()) return matmul_fault::partial_partial;
    int const contracted = VectorFirst == Transposed ? 1 : 0;
    if (!(left.axes_of(VectorFirst ? 0 : contracted) ==
          right.axes_of(VectorFirst ? contracted : 0)))
      return matmul_fault::contraction;
    return matmul_fault::no_rule;
  }
  static constexpr char const* sentence_for(placement const& left, placement const& right) {
    switch (fault_of(left, right)) {
      case matmul_fault::axes: return ASHLAR_SAYS_MATMUL_AXES;
      case matmul_fault::partial_partial: return ASHLAR_SAYS_MATMUL_PARTIAL_PARTIAL;
      case matmul_fault::contraction: return ASHLAR_SAYS_MATVEC_CONTRACTION;
      default: return ASHLAR_SAYS_MATVEC_NO_RULE;
    }
  }
};
template <class A, bool VectorFirst>
using matvec_rule_of = matvec_rule<VectorFirst, matmul_operand<A>::is_transposed>;

/// The body of the fallbacks: fails to compile, with a message that names the fault.
template <class Rule, class Left, class Right>
constexpr void say_matvec_fault() {
  constexpr auto fault = Rule::fault_of(static_value<Left>, static_value<Right>);
  static_assert(fault != matmul_fault::axes, ASHLAR_SAYS_MATMUL_AXES);
  static_assert(matched_if<fault == matmul_fault::partial_partial, Rule, Left, Right>::fits,
                ASHLAR_SAYS_MATMUL_PARTIAL_PARTIAL);
  static_assert(matched_if<fault == matmul_fault::contraction, Rule, Left, Right>::fits,
                ASHLAR_SAYS_MATVEC_CONTRACTION);
  static_assert(matched_if<fault == matmul_fault::no_rule, Rule, Left, Right>::fits,
                ASHLAR_SAYS_MATVEC_NO_RULE);
}

/// Computes the local product of the matrix a and the vector x. `p` is the placement of the result.
template <bool VectorFirst, class A, class X, class Placement>
auto local_matvec(A const& wrapped, X const& x, Placement const& p) {
  auto const& a = matmul_operand<A>::get(wrapped);
  using T = typename X::value_type;
  static_assert(!std::is_integral_v<T>, ASHLAR_SAYS_MATMUL_INTEGERS);
  // x^T a is a^T x, and a vector is a matrix of one column.
  constexpr bool transposes = matmul_operand<A>::is_transposed != VectorFirst;
  constexpr int kept = transposes ? 1 : 0, contracted = 1 - kept;
  if (a.extents()[contracted] != x.extents()[0]) {
    std::string const matrix = describe(a) +
                               (matmul_operand<A>::is_transposed ? " transposed" : "");
    throw error("matmul", "the extents do not fit: " +
                              (VectorFirst ? describe(x) + " times " + matrix
                                           : matrix + " times " + describe(x)) +
                              ".");
  }
  auto y = empty<T, 1>(a.mesh(), shape{a.extents()[kept]}, p);
  std::int64_t const m = y.local_elements(), k = x.local_elements();
  gemm_in_strips<T>(a.mesh(), transposes, false, 1, m, 1, k, a.data(), a.local_size(1), m * k,
                    x.data(), 1, k, false, y.data(), 1, m);
  return y;
}

}  // namespace detail

/// Returns the vector a · x for a matrix a of m x k and a vector x of k elements, whose placements
/// need no communication. a may be transposed(...). Communicates nothing. Throws ashlar::error if
/// the extents do not fit, or if run-time placements match no row of the signature table.
template <class A, class X>
  requires detail::matrix_and_vector<A, X> &&
           locally_applicable<detail::matvec_rule_of<A, false>, detail::matmul_tensor<A>, X>
auto matmul(A const& a, X const& x) {
  auto const p = detail::result_of<detail::matvec_rule_of<A, false>>(
      detail::matmul_operand<A>::get(a), x);
  return detail::local_matvec<false>(a, x, p);
}
template <class A, class X>
  requires detail::matrix_and_vector<A, X>
ill_formed matmul(A const&, X const&) {
  detail::say_matvec_fault<detail::matvec_rule_of<A, false>, detail::matmul_tensor<A>, X>();
  return {};
}

/// Returns the vector x · a for a vector x of k elements and a matrix a of k x n, whose placements
/// need no communication. a may be transposed(...). Communicates nothing. Throws ashlar::error as
/// matmul(a, x) does.
template <class X, class A>
  requires detail::matrix_and_vector<A, X> &&
           locally_applicable<detail::matvec_rule_of<A, true>, X, detail::matmul_tensor<A>>
auto matmul(X const& x, A const& a) {
  auto const p = detail::result_of<detail::matvec_rule_of<A, true>>(
      x, detail::matmul_operand<A>::get(a));
  return detail::local_matvec<true>(a, x, p);
}
template <class X, class A>
  requires detail::matrix_and_vector<A, X>
ill_formed matmul(X const&, A const&) {
  detail::say_matvec_fault<detail::matvec_rule_of<A, true>, X, detail::matmul_tensor<A>>();
  return {};
}

}  // namespace ashlar
