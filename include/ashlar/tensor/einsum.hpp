// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// einsum: products, sums and permutations by letters, which the compiler checks.
//
//   einsum<"bsd,df->bsf">(x, w)      a linear layer
//   einsum<"bqhd,bkhd->bhqk">(q, k)  scores of attention
//   einsum<"m,n->mn">(x, y)          an outer product
//   einsum<"bsd->db">(x)             a permutation and a sum over s
//
// Each letter names one dim. The einsum sums over the letters that the result lacks. No letter may
// occur twice in an operand or in the result. Nothing is communicated. On each mesh axis, one of
// these cases must hold (signature/contraction.hpp):
//
//   one letter is split, on each operand that has it: the result is split along it too, or P if the
//   letter is summed over
//   both operands B -> B    P, B -> P    B, P -> P    one operand: B -> B, P -> P
//
// An einsum of two operands is computed as matrix products, with the kernels of matmul.
// order_of_einsum (signature/einsum.hpp) chooses in which order of letters the kernels read each
// operand. An operand whose letters have another order is copied first. Letters that only one
// operand has and the result lacks are summed before the products.

#include <array>
#include <string>

#include <ashlar/signature/einsum.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/copy_letters.hpp>
#include <ashlar/tensor/gemm_in_strips.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {

/// These types name the faulty letter of an einsum in errors of the compiler. letter_of_text names
/// a letter that is wrong in the text. letter_on_mesh_axis names a letter that typed operands split
/// on mesh axis number `Axis` in a way that matches no row of the table. Fallback overloads assert
/// `fits`, which is false, so that GCC and Clang print letter_on_mesh_axis<'k', 1>::fits with the
/// message.
template <char Letter>
struct letter_of_text {
  static constexpr bool fits = false;
};
template <char Letter, int Axis>
struct letter_on_mesh_axis {
  static constexpr bool fits = false;
};

namespace detail {

template <einsum_text Text>
inline constexpr einsum_letters einsum_of = read_einsum(Text);

/// Fallback overloads assert type::fits. If `IsAtFault`, `fits` is false, and `type` is
/// letter_of_text, so that the compiler prints the letter with the message.
template <bool IsAtFault, char Letter>
struct letter_if {
  using type = letter_of_text<Letter>;
};
template <char Letter>
struct letter_if<false, Letter> {
  struct type {
    static constexpr bool fits = true;
  };
};

template <einsum_text Text>
struct einsum_rule {
  static constexpr char const* name = "einsum";
  static constexpr char const* sentence = ASHLAR_SAYS_EINSUM;
  static constexpr signature_table table() {
    constexpr auto& of = einsum_of<Text>;
    return of.operands == 1 ? einsum_signatures(of.a.view(), of.c.view())
                            : contraction_signatures(of.a.view(), of.b.view(), of.c.view());
  }
  static std::string note(axis_placement const& a, axis_placement const& b = {}) {
    char const letter = split_letter(einsum_of<Text>, a, b);
    return letter == ' ' ? std::string() : std::string("; letter ") + letter;
  }
};

/// Returns the letter of the dim that the failing mesh axis splits on an operand. Returns ' ' if
/// the axis splits no dim, or if the operands are not both typed.
template <einsum_text Text, class X, class Y>
constexpr char failing_letter() {
  if constexpr (!all_static<X, Y>) {
    return ' ';
  } else {
    int const axis = failing_axis<einsum_rule<Text>, X, Y>();
    auto const &a = static_value<X>, &b = static_value<Y>;
    return axis < a.axes() && axis < b.axes() ? split_letter(einsum_of<Text>, a[axis], b[axis])
                                              : ' ';
  }
}

/// A tensor that fits a text of one operand: it has as many dims as the operand has letters.
template <einsum_text Text, class X>
concept einsum_operand = distributed<X> && einsum_of<Text>.fault == einsum_fault::none &&
                         einsum_of<Text>.operands == 1 && einsum_of<Text>.a.length == X::rank;

template <einsum_text Text, class X, class Y>
concept einsum_operands = distributed<X> && distributed<Y> &&
                          einsum_of<Text>.fault == einsum_fault::none &&
                          einsum_of<Text>.operands == 2 && einsum_of<Text>.a.length == X::rank &&
                          einsum_of<Text>.b.length == Y::rank &&
                          std::same_as<typename X::value_type, typename Y::value_type> &&
                          std::same_as<typename X::processor_type, typename Y::processor_type>;

template <distributed X>
void note_local(letter_extents& local, dim_letters const& letters, X const& x) {
  for (int d = 0; d < X::rank; ++d) local.set(letters.text[d], x.local_size(d));
}

/// Returns the extents of the result. Throws ashlar::error if a letter has different extents in x
/// and y.
template <distributed X, distributed Y>
shape einsum_extents(einsum_letters const& of, X const& x, Y const& y) {
  shape extents;
  for (int i = 0; i < of.a.length; ++i)
    for (int j = 0; j < of.b.length; ++j)
      if (of.a.text[i] == of.b.text[j] && x.extents()[i] != y.extents()[j])
        throw error("einsum", std::string("the extents of letter ") + of.a.text[i] +
                                  " differ: " + describe(x) + " and " + describe(y) + ".");
  for (char const letter : of.c.view()) {
    auto const at = of.a.view().find(letter);
    extents.extent.push_back(at != std::string_view::npos
                                 ? x.extents()[static_cast<int>(at)]
                                 : y.extents()[static_cast<int>(of.b.view().find(letter))]);
  }
  return extents;
}

/// Sums the array x, whose dims have the letters `from`, over the letters `summed`, and writes the
/// sums to y in the order `kept`. Unless `from` is `kept` followed by `summed`, x is first copied
/// to this order.
template <class Mesh, class T>
void sum_letters(Mesh const& m, letter_extents const& local, dim_letters const& from, T const* x,
                 dim_letters const& kept, dim_letters const& summed, T* y) {
  if (summed.length == 0) return copy_letters(m.processor(), local, from, x, kept, y);
  auto const rows = local.product(kept), columns = local.product(summed);
  if (rows == 0) return;
  if (from == kept + summed)
    return reduce_dim(m.processor(), m.memory(), reduction::sum, x, rows, columns, 1, y);
  buffer<T> const copy(m.memory(), rows * columns);
  copy_letters(m.processor(), local, from, x, kept + summed, copy.data());
  reduce_dim(m.processor(), m.memory(), reduction::sum, static_cast<T const*>(copy.data()), rows,
             columns, 1, y);
}

/// Writes the product of the shards a and b to the shard c.
template <class Mesh, class T>
void multiply_letters(Mesh const& mesh, letter_extents const& local, einsum_letters const& of,
                      T const* a, T const* b, T* c) {
  auto const r = order_of_einsum(of);
  auto const batch = local.product(r.batch), m = local.product(r.m), n = local.product(r.n),
             k = local.product(r.k);
  if (batch * m * n == 0) return;
  buffer<T> const left(mesh.memory(), r.a.copied ? batch * m * k : 0),
      right(mesh.memory(), r.b.copied ? batch * k * n : 0),
      made(mesh.memory(), r.c.copied ? batch * m * n : 0);
  if (r.a.copied) {
    sum_letters(mesh, local, of.a, a, r.batch + r.m + r.k, r.a_only, left.data());
    a = left.data();
  }
  if (r.b.copied) {
    sum_letters(mesh, local, of.b, b, r.batch + r.k + r.n, r.b_only, right.data());
    b = right.data();
  }
  auto const lda = r.a.transposed ? m : k, ldb = r.b.transposed ? k : n;
  T* const target = r.c.copied ? made.data() : c;
  if (r.c.transposed)  // c^T = b^T a^T
    gemm_in_strips<T>(mesh, !r.b.transposed, !r.a.transposed, batch, n, m, k, b, ldb, k * n, a, lda,
                      m * k, false, target, m, m * n);
  else
    gemm_in_strips<T>(mesh, r.a.transposed, r.b.transposed, batch, m, n, k, a, lda, m * k, b, ldb,
                      k * n, false, target, n, m * n);
  if (r.c.copied)
    copy_letters(mesh.processor(), local, r.batch + r.m + r.n, static_cast<T const*>(target), of.c,
                 c);
}

}  // namespace detail

/// Returns the product of x and y that Text describes, such as einsum<"mk,kn->mn">(x, y). Requires
/// floating-point elements. Communicates nothing. Throws ashlar::error if the extents of a letter
/// differ, or if run-time placements match no row of the table.
template <einsum_text Text, distributed X, distributed Y>
  requires detail::einsum_operands<Text, X, Y> &&
           locally_applicable<detail::einsum_rule<Text>, X, Y>
auto einsum(X const& x, Y const& y) {
  using T = typename X::value_type;
  static_assert(!std::is_integral_v<T>, ASHLAR_SAYS_EINSUM_INTEGERS);
  constexpr auto& of = detail::einsum_of<Text>;
  auto const p = detail::result_of<detail::einsum_rule<Text>>(x, y);
  auto c = empty<T, of.c.length>(x.mesh(), detail::einsum_extents(of, x, y), p);
  detail::letter_extents local;
  detail::note_local(local, of.a, x);
  detail::note_local(local, of.b, y);
  detail::multiply_letters(x.mesh(), local, of, static_cast<T const*>(x.data()),
                           static_cast<T const*>(y.data()), c.data());
  return c;
}

/// Returns x with its dims in the order of the result's letters, summed over the letters that the
/// result lacks, such as einsum<"mn->nm">(x). Communicates nothing. Throws ashlar::error if a
/// run-time placement matches no row of the table.
template <einsum_text Text, distributed X>
  requires detail::einsum_operand<Text, X> && locally_applicable<detail::einsum_rule<Text>, X>
auto einsum(X const& x) {
  using T = typename X::value_type;
  constexpr auto& of = detail::einsum_of<Text>;
  auto const p = detail::result_of<detail::einsum_rule<Text>>(x);
  auto c = empty<T, of.c.length>(x.mesh(), detail::einsum_extents(of, x, x), p);
  detail::letter_extents local;
  detail::note_local(local, of.a, x);
  dim_letters summed;
  for (char const letter : of.a.view())
    if (!of.c.has(letter)) summed.push_back(letter);
  detail::sum_letters(x.mesh(), local, of.a, static_cast<T const*>(x.data()), of.c, summed,
                      c.data());
  return c;
}

namespace detail {
/// The body of the fallbacks: fails to compile, with a message that names the fault. `Fits` says
/// whether the number of operands, their numbers of dims and their types fit the text.
template <einsum_text Text, bool Fits, class... Operands>
constexpr void say_einsum_fault() {
  constexpr auto fault = einsum_of<Text>.fault;
  static_assert(fault != einsum_fault::form, ASHLAR_SAYS_EINSUM_FORM);
  constexpr char letter = einsum_of<Text>.letter;
  static_assert(letter_if<fault == einsum_fault::letter_twice, letter>::type::fits,
                ASHLAR_SAYS_EINSUM_TWICE);
  static_assert(letter_if<fault == einsum_fault::unknown_letter, letter>::type::fits,
                ASHLAR_SAYS_EINSUM_UNKNOWN);
  static_assert(fault != einsum_fault::none || Fits, ASHLAR_SAYS_EINSUM_OPERANDS);
  static_assert(
      matched_if<(fault == einsum_fault::none && Fits), einsum_rule<Text>, Operands...>::fits,
      ASHLAR_SAYS_EINSUM);
}
}  // namespace detail

template <einsum_text Text, distributed X, distributed Y>
ill_formed einsum(X const&, Y const&) {
  constexpr bool fits = detail::einsum_operands<Text, X, Y>;
  constexpr char letter = [] {
    if constexpr (fits) return detail::failing_letter<Text, X, Y>();
    else return ' ';
  }();
  if constexpr (letter == ' ') {
    detail::say_einsum_fault<Text, fits, X, Y>();
  } else {
    constexpr int axis = detail::failing_axis<detail::einsum_rule<Text>, X, Y>();
    static_assert(letter_on_mesh_axis<letter, axis>::fits, ASHLAR_SAYS_EINSUM);
  }
  return {};
}
template <einsum_text Text, distributed X>
ill_formed einsum(X const&) {
  detail::say_einsum_fault<Text, detail::einsum_operand<Text, X>, X>();
  return {};
}

}  // namespace ashlar
