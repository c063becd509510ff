// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operands of matmul, and the placements that it accepts without communication.
//
//   transposed(x)      an operand that matmul reads transposed
//   matmul_operand     access to the tensor of an operand, which is a tensor or transposed(tensor)
//   matmul_rule        the signature table of matmul, and the error message if no row matches
//   matmul_operands    holds for two operands of the same element type, number of dims (two, or
//                      three for a batch of matrices) and type of processor
//   same_contraction   throws if the extents of two operands do not fit

#include <concepts>

#include <ashlar/signature/contraction.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {

/// A matrix, or a batch of matrices, that matmul reads transposed. It holds the untransposed
/// tensor.
template <distributed Tensor>
struct transposed_view {
  using tensor_type = Tensor;
  Tensor tensor;
};

/// Returns x as an operand that matmul reads with the last two dims exchanged. Shares the shard of
/// x and copies nothing.
template <distributed Tensor>
transposed_view<Tensor> transposed(Tensor const& x) {
  return {x};
}

namespace detail {

template <class Operand>
struct matmul_operand {
  using tensor_type = Operand;
  static constexpr bool is_transposed = false;
  static Operand const& get(Operand const& x) { return x; }
};
template <class Tensor>
struct matmul_operand<transposed_view<Tensor>> {
  using tensor_type = Tensor;
  static constexpr bool is_transposed = true;
  static Tensor const& get(transposed_view<Tensor> const& x) { return x.tensor; }
};

template <class Operand>
inline constexpr bool is_matmul_operand = is_tensor<Operand>;
template <class Tensor>
inline constexpr bool is_matmul_operand<transposed_view<Tensor>> = true;

template <class Operand>
using matmul_tensor = typename matmul_operand<Operand>::tensor_type;

/// The reason why the operands match no row of the signature table. It selects the error message:
///
///   axes              the operands have different numbers of mesh axes
///   partial_partial   both operands are partial on one axis
///   contraction       the dims that are summed over are not split by the same axes in the same
///                     shard order
///   no_rule           another reason
enum class matmul_fault { axes, partial_partial, contraction, no_rule };

template <int Rank, bool TransposeA, bool TransposeB>
struct matmul_rule {
  static constexpr char const* name = "matmul";
  static constexpr signature_table table() {
    return product_signatures(Rank, TransposeA, TransposeB);
  }
  static constexpr matmul_fault fault_of(placement const& a, placement const& b) {
    if (a.axes() != b.axes()) return matmul_fault::axes;
    for (int i = 0; i < a.axes(); ++i)
      if (a[i].is_partial() && b[i].is_partial()) return matmul_fault::partial_partial;
    int const contracted_a = Rank - (TransposeA ? 2 : 1);
    int const contracted_b = Rank - (TransposeB ? 1 : 2);
    if (!(a.axes_of(contracted_a) == b.axes_of(contracted_b))) return matmul_fault::contraction;
    return matmul_fault::no_rule;
  }
  static constexpr char const* sentence_for(placement const& a, placement const& b) {
    switch (fault_of(a, b)) {
      case matmul_fault::axes: return ASHLAR_SAYS_MATMUL_AXES;
      case matmul_fault::partial_partial: return ASHLAR_SAYS_MATMUL_PARTIAL_PARTIAL;
      case matmul_fault::contraction: return ASHLAR_SAYS_MATMUL_CONTRACTION;
      default: return ASHLAR_SAYS_MATMUL_NO_RULE;
    }
  }
};
template <class A, class B>
using matmul_rule_of = matmul_rule<matmul_tensor<A>::rank, matmul_operand<A>::is_transposed,
                                   matmul_operand<B>::is_transposed>;

template <class A, class B>
concept matmul_operands =
    is_matmul_operand<A> && is_matmul_operand<B> &&
    matmul_tensor<A>::rank == matmul_tensor<B>::rank &&
    (matmul_tensor<A>::rank == 2 || matmul_tensor<A>::rank == 3) &&
    std::same_as<typename matmul_tensor<A>::value_type, typename matmul_tensor<B>::value_type> &&
    std::same_as<typename matmul_tensor<A>::processor_type,
                 typename matmul_tensor<B>::processor_type>;

/// Holds if A is a matrix, possibly transposed, and X a vector with the same element type and type
/// of processor (matvec.hpp).
template <class A, class X>
concept matrix_and_vector =
    is_matmul_operand<A> && is_tensor<X> && matmul_tensor<A>::rank == 2 && X::rank == 1 &&
    std::same_as<typename matmul_tensor<A>::value_type, typename X::value_type> &&
    std::same_as<typename matmul_tensor<A>::processor_type, typename X::processor_type>;

/// Throws ashlar::error if the contracted extents or the batch extents of the operands differ.
template <class A, class B>
void same_contraction(A const& wrapped_a, B const& wrapped_b) {
  auto const& a = matmul_operand<A>::get(wrapped_a);
  auto const& b = matmul_operand<B>::get(wrapped_b);
  constexpr bool ta = matmul_operand<A>::is_transposed, tb = matmul_operand<B>::is_transposed;
  constexpr int first = matmul_tensor<A>::rank - 2, second = first + 1;
  if (a.extents()[ta ? first : second] != b.extents()[tb ? second : first] ||
      (first == 1 && a.extents()[0] != b.extents()[0]))
    throw error("matmul", "the extents do not fit: " + describe(a) + (ta ? " transposed" : "") +
                              " times " + describe(b) + (tb ? " transposed" : "") + ".");
}

}  // namespace detail
}  // namespace ashlar
