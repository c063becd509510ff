// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads the text of an einsum, such as "bsd,df->bsf" or "bsd->db". Each letter names a dim. There
// are one or two operands, and no letter occurs twice in an operand or in the result.
//
// An einsum of two operands a and b with the result c becomes a batch of matrix products. The role
// of a letter depends on the arrays that have it:
//
//   in a, b and c   batch     in a and c   m     in b and c   n
//   in a and b      k         in a only, or in b only: summed before the product
//
// So c[batch, m, n] is the sum over k of a[batch, m, k] b[batch, k, n]. `order_of_einsum` chooses
// the order of the letters in which the products read a and b and write c. An array whose letters
// have this order, or have it with transposed matrices, is not copied. An operand with letters that
// are summed before the product is always copied.
//
// The signature table of two operands is that of a contraction (signature/contraction.hpp). The
// table of one operand follows from its contraction with a scalar of placement B.

#include <string_view>

#include <ashlar/signature/contraction.hpp>
#include <ashlar/signature/dim_letters.hpp>

namespace ashlar {

/// The text of an einsum, in a form that can be a template argument. Keeps up to 24 characters. A
/// longer text is refused by read_einsum.
struct einsum_text {
  char text[24]{};
  int length = 0;

  constexpr einsum_text(char const* from) {
    for (; *from != '\0'; ++from, ++length)
      if (length < 24) text[length] = *from;
  }
  constexpr std::string_view view() const {
    return {text, static_cast<std::size_t>(length < 24 ? length : 24)};
  }
};

/// Says what is wrong with the text of an einsum.
enum class einsum_fault : signed char { none, form, letter_twice, unknown_letter };

/// The letters of the dims of operands a and b and of result c. If the einsum has one operand, `b`
/// is empty.
struct einsum_letters {
  dim_letters a, b, c;
  int operands = 1;
  einsum_fault fault = einsum_fault::none;
  char letter = ' ';  ///< if a letter is at fault: this letter
};

/// Returns the letters of an einsum, or what is wrong with its text. The text is passed by value:
/// with GCC's undefined behaviour sanitizer, a constant expression cannot search in a text that is
/// a template argument.
constexpr einsum_letters read_einsum(einsum_text text) {
  einsum_letters read;
  auto const all = text.view();
  auto const arrow = all.find("->");
  read.fault = einsum_fault::form;
  if (arrow == std::string_view::npos || text.length > 24) return read;
  auto const comma = all.substr(0, arrow).find(',');
  read.operands = comma == std::string_view::npos ? 1 : 2;
  std::string_view const parts[] = {all.substr(0, read.operands == 2 ? comma : arrow),
                                    read.operands == 2 ? all.substr(comma + 1, arrow - comma - 1)
                                                       : std::string_view(),
                                    all.substr(arrow + 2)};
  for (auto const part : parts) {
    if (part.size() > static_cast<std::size_t>(max_rank)) return read;
    for (char const c : part)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return read;
  }
  for (auto const part : parts)
    for (std::size_t i = 0; i < part.size(); ++i)
      if (part.find(part[i], i + 1) != std::string_view::npos) {
        read.fault = einsum_fault::letter_twice;
        read.letter = part[i];
        return read;
      }
  read.a = dim_letters(parts[0]);
  read.b = dim_letters(parts[1]);
  read.c = dim_letters(parts[2]);
  read.fault = einsum_fault::none;
  for (char const letter : parts[2])
    if (!read.a.has(letter) && !read.b.has(letter) && read.fault == einsum_fault::none) {
      read.fault = einsum_fault::unknown_letter;
      read.letter = letter;
    }
  return read;
}

/// Returns the letter that a mesh axis splits: a letter of the first operand if the axis splits
/// this operand, otherwise a letter of the second operand, or ' ' if the axis splits neither. `a`
/// and `b` are the placements of the operands along this axis.
constexpr char split_letter(einsum_letters const& of, axis_placement const& a,
                            axis_placement const& b) {
  if (a.is_split() && a.dim < of.a.length) return of.a.text[a.dim];
  if (b.is_split() && b.dim < of.b.length) return of.b.text[b.dim];
  return ' ';
}

/// Returns the signature table of an einsum of one operand. Such an einsum permutes the dims, and
/// sums over the dims whose letters are not in the result. If it only permutes, the table also has
/// rows for partial maxima and minima.
constexpr signature_table einsum_signatures(std::string_view a, std::string_view c) {
  signature_table table;
  for (auto const& row : contraction_signatures(a, "", c))
    if (row.in[1].is_broadcast()) table.push_back({{row.in[0]}, row.out});
  if (a.size() == c.size())
    for (auto const op : {reduction::max, reduction::min})
      table.push_back({{partial(op)}, partial(op)});
  return table;
}

/// Says how the matrix products use one of the arrays a, b and c: `order` is the order of letters
/// in which they use it. `transposed` says that the matrices in this order are transposed, as
/// [batch, k, m] instead of [batch, m, k] for a. `copied` says that the products use a copy, which
/// is so if the array has another order in memory or letters that are summed before the products.
struct einsum_array {
  dim_letters order;
  bool transposed = false, copied = false;
};

/// Says how an einsum of two operands becomes a batch of matrix products: the letters of each role,
/// and how the products use each array. `a_only` and `b_only` are summed before the products.
struct einsum_order {
  dim_letters batch, m, n, k, a_only, b_only;
  einsum_array a, b, c;
};

namespace detail {

/// Returns how the products use the array with the letters `is`, as a batch of matrices with the
/// letters `rows` and `columns`. If the array also has letters that are summed before the product
/// (`summed`), it is copied, and these letters come last.
constexpr einsum_array array_of(dim_letters const& is, dim_letters const& batch,
                                dim_letters const& rows, dim_letters const& columns,
                                dim_letters const& summed = {}) {
  auto const order = batch + rows + columns;
  if (summed.length > 0) return {order + summed, false, true};
  if (is == order) return {order, false, false};
  if (is == batch + columns + rows) return {is, true, false};
  return {order, false, true};
}

}  // namespace detail

/// Returns how an einsum becomes matrix products. Expects that it has two operands and no fault.
constexpr einsum_order order_of_einsum(einsum_letters const& of) {
  einsum_order r;
  for (char const letter : of.c.view())
    (of.a.has(letter) && of.b.has(letter) ? r.batch
     : of.a.has(letter)                   ? r.m
                                          : r.n)
        .push_back(letter);
  for (char const letter : of.a.view())
    if (!of.c.has(letter)) (of.b.has(letter) ? r.k : r.a_only).push_back(letter);
  dim_letters other_k;
  for (char const letter : of.b.view())
    if (!of.c.has(letter)) (of.a.has(letter) ? other_k : r.b_only).push_back(letter);
  auto const arrange = [&](dim_letters const& k) {
    r.k = k;
    r.a = detail::array_of(of.a, r.batch, r.m, k, r.a_only);
    r.b = detail::array_of(of.b, r.batch, k, r.n, r.b_only);
    return int(r.a.copied) + int(r.b.copied);
  };
  auto const k = r.k;
  if (int const copies = arrange(k); copies > 0 && arrange(other_k) >= copies) arrange(k);
  r.c = detail::array_of(of.c, r.batch, r.m, r.n);
  return r;
}

}  // namespace ashlar
