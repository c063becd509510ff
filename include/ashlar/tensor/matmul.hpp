// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Matrix products of distributed tensors.
//
//   matmul(x, w)                local; does not compile if the placements need communication
//   matmul<sbp<S<0>, B>>(x, w)  moves data as needed, and the result has the given placement
//   matmul(x, w, placement)     moves data as needed; the placement is a run-time value
//   matmul(transposed(x), w)    makes no copy: the GEMM reads x transposed
//
// A matrix times a vector, and a vector times a matrix, are in matvec.hpp.
//
// Operands with three dims are batches of matrices: dim 0 counts the matrices. The forms with a
// placement run the cheapest plan, which consists of redistributions before and after a local
// product. plan_matmul(x, w, p) returns this plan, which can be printed. By default, a plan uses no
// more memory per rank than the mesh's machine has. The last argument (matmul_options) can set
// another limit. If no other plan fits the limit, or if the argument asks for it, the product runs
// in panels: parts along one dim, one after another (plan/matmul_stream.hpp).

#include <ashlar/plan/matmul_layouts.hpp>
#include <ashlar/plan/matmul_text.hpp>
#include <ashlar/tensor/gemm_in_strips.hpp>
#include <ashlar/tensor/matmul_rule.hpp>
#include <ashlar/tensor/matmul_stream.hpp>

namespace ashlar {

namespace detail {

/// Computes the local product. `p` is the placement of the result.
template <class A, class B, class Placement>
auto local_matmul(A const& wrapped_a, B const& wrapped_b, Placement const& p) {
  auto const& a = matmul_operand<A>::get(wrapped_a);
  auto const& b = matmul_operand<B>::get(wrapped_b);
  constexpr bool ta = matmul_operand<A>::is_transposed, tb = matmul_operand<B>::is_transposed;
  constexpr int rank = matmul_tensor<A>::rank;
  using T = typename matmul_tensor<A>::value_type;
  static_assert(!std::is_integral_v<T>, ASHLAR_SAYS_MATMUL_INTEGERS);
  int const first = rank - 2, second = rank - 1;
  same_contraction(wrapped_a, wrapped_b);
  shape extents = a.extents();
  extents[first] = a.extents()[ta ? second : first];
  extents[second] = b.extents()[tb ? first : second];
  auto c = empty<T, rank>(a.mesh(), extents, p);
  std::int64_t const batch = rank == 3 ? c.local_size(0) : 1;
  std::int64_t const m = c.local_size(first), n = c.local_size(second);
  std::int64_t const k = a.local_size(ta ? first : second);
  gemm_in_strips<T>(c.mesh(), ta, tb, batch, m, n, k, a.data(), a.local_size(second), m * k,
                    b.data(), b.local_size(second), k * n, false, c.data(), n, m * n);
  return c;
}

template <class Wrapped, class Tensor>
auto rewrap(Tensor const& x) {
  if constexpr (matmul_operand<Wrapped>::is_transposed) return transposed(x);
  else return x;
}

}  // namespace detail

/// Holds if both operands are matrices, or batches of them, whose product needs no communication.
/// If an operand is dynamic, the placements are checked at run time.
template <class A, class B>
concept multipliable = detail::matmul_operands<A, B> &&
                       locally_applicable<detail::matmul_rule_of<A, B>, detail::matmul_tensor<A>,
                                          detail::matmul_tensor<B>>;

/// Returns the product of two operands whose placements need no communication. Communicates
/// nothing. Throws ashlar::error if the extents do not fit, or if run-time placements match no row
/// of the signature table.
template <class A, class B>
  requires multipliable<A, B>
auto matmul(A const& a, B const& b) {
  auto const p = detail::result_of<detail::matmul_rule_of<A, B>>(detail::matmul_operand<A>::get(a),
                                                                 detail::matmul_operand<B>::get(b));
  return detail::local_matmul(a, b, p);
}
template <class A, class B>
  requires detail::matmul_operands<A, B>
ill_formed matmul(A const&, B const&) {
  constexpr auto fault = detail::matmul_rule_of<A, B>::fault_of(
      detail::static_value<detail::matmul_tensor<A>>,
      detail::static_value<detail::matmul_tensor<B>>);
  static_assert(fault != detail::matmul_fault::axes, ASHLAR_SAYS_MATMUL_AXES);
  static_assert(detail::matched_if<fault == detail::matmul_fault::partial_partial,
                                   detail::matmul_rule_of<A, B>, detail::matmul_tensor<A>,
                                   detail::matmul_tensor<B>>::fits,
                ASHLAR_SAYS_MATMUL_PARTIAL_PARTIAL);
  static_assert(
      detail::matched_if<fault == detail::matmul_fault::contraction, detail::matmul_rule_of<A, B>,
                         detail::matmul_tensor<A>, detail::matmul_tensor<B>>::fits,
      ASHLAR_SAYS_MATMUL_CONTRACTION);
  static_assert(
      detail::matched_if<fault == detail::matmul_fault::no_rule, detail::matmul_rule_of<A, B>,
                         detail::matmul_tensor<A>, detail::matmul_tensor<B>>::fits,
      ASHLAR_SAYS_MATMUL_NO_RULE);
  return {};
}

template <class A, class B>
  requires(detail::is_matmul_operand<A> && detail::is_matmul_operand<B> &&
           !detail::matmul_operands<A, B> && !detail::matrix_and_vector<A, B> &&
           !detail::matrix_and_vector<B, A>)
ill_formed matmul(A const&, B const&) {
  static_assert(detail::always_false<A>, ASHLAR_SAYS_MATMUL_OPERANDS);
  return {};
}

namespace detail {

/// Returns the plan of the product of a and b with the result at placement `p`. The plan is in the
/// mesh's cache. Throws ashlar::error as plan_matmul does.
template <class A, class B, placement_argument Result>
std::shared_ptr<prepared_product const> const& product_plan(A const& a, B const& b, Result const& p,
                                                            matmul_options const& wanted) {
  auto const& x = detail::matmul_operand<A>::get(a);
  auto const& w = detail::matmul_operand<B>::get(b);
  detail::same_mesh("matmul", x, w);
  detail::same_contraction(a, b);
  if (char const* const wrong = check(as_value(p), detail::matmul_tensor<A>::rank,
                                      x.mesh().topology()))
    throw error("matmul", "result " + to_string(as_value(p)) + ": " + wrong);
  refuse_owned_result("matmul", as_value(p));
  refuse_owned_or_routed("matmul", x.extents(), x.placement());
  refuse_owned_or_routed("matmul", w.extents(), w.placement());
  return x.mesh().plans().product(
      x.extents(), x.placement(), w.extents(), w.placement(),
      detail::matmul_operand<A>::is_transposed, detail::matmul_operand<B>::is_transposed,
      as_value(p), sizeof(typename detail::matmul_tensor<A>::value_type), x.mesh().topology(),
      x.mesh().machine(), wanted, x.mesh().coordinate());
}

}  // namespace detail

/// Returns the plan that matmul(a, b, p, wanted) runs: the redistributions before and after the
/// local product. Communicates nothing. Throws ashlar::error if the extents or the placement do not
/// fit, or if no plan satisfies `wanted`.
template <class A, class B, placement_argument Result>
  requires detail::matmul_operands<A, B>
matmul_report plan_matmul(A const& a, B const& b, Result const& p, matmul_options const& wanted) {
  auto const& m = detail::matmul_operand<A>::get(a).mesh();
  return {detail::product_plan(a, b, p, wanted)->plan, m.topology(), m.machine()};
}
template <class A, class B, placement_argument Result>
  requires detail::matmul_operands<A, B>
matmul_report plan_matmul(A const& a, B const& b, Result const& p) {
  return plan_matmul(a, b, p, {detail::matmul_operand<A>::get(a).mesh().machine().memory});
}

/// Finds the cheapest placements for a product of an m x k matrix and a k x n matrix of T: the
/// placements of both operands and of the result. Returns them with the plan of this product.
/// Communicates nothing. Throws ashlar::error if no plan fits the memory of the mesh's machine.
template <class T, class Processor>
matmul_layouts plan_matmul_layouts(std::int64_t m, std::int64_t n, std::int64_t k,
                                   basic_mesh<Processor> const& where) {
  return plan_matmul_layouts(m, n, k, where.topology(), static_cast<int>(sizeof(T)),
                             where.machine());
}

/// Returns the product at placement `p`. Runs the cheapest plan that satisfies `wanted`. The
/// overload without `wanted` limits the memory per rank to the memory of the mesh's machine.
/// Communicates the redistributions of this plan, which plan_matmul returns. Throws ashlar::error
/// as plan_matmul does.
template <class A, class B, placement_argument Result>
  requires detail::matmul_operands<A, B>
auto matmul(A const& a, B const& b, Result const& p, matmul_options const& wanted) {
  auto const product = detail::product_plan(a, b, p, wanted);
  auto const& plan = *product;
  auto const given_a = detail::matmul_operand<A>::get(a).as_dynamic();
  auto const given_b = detail::matmul_operand<B>::get(b).as_dynamic();
  auto const whole = [&] {
    // This scope frees the redistributed operands before c is redistributed, as the plan's memory
    // estimate assumes.
    auto local = [&] {
      auto const x = detail::run_plan(given_a, plan.a);
      auto const w = detail::run_plan(given_b, plan.b);
      return detail::local_matmul(detail::rewrap<A>(x), detail::rewrap<B>(w), plan.plan.c.from);
    }();
    return detail::run_plan(std::move(local), plan.c);
  };
  auto const result = plan.plan.panels.letter == 0
                          ? whole()
                          : detail::run_streamed(given_a, given_b, product);
  if constexpr (static_placement<Result>) return result.template as_static<Result>();
  else return result;
}
template <class A, class B, placement_argument Result>
  requires detail::matmul_operands<A, B>
auto matmul(A const& a, B const& b, Result const& p) {
  return matmul(a, b, p, {detail::matmul_operand<A>::get(a).mesh().machine().memory});
}
template <static_placement Result, class A, class B>
  requires detail::matmul_operands<A, B>
auto matmul(A const& a, B const& b) {
  return matmul(a, b, Result{});
}

}  // namespace ashlar
