// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads the text of an einsum, such as "bsd,df->bsf" or "bsd->db", and decides how it becomes a product
// of matrices. A letter names a dim of each operand and of the result. There are one or two operands,
// and no letter stands twice in one of them or in the result. The letters of a text of two operands
// have these roles:
//
//   in a, b and c   batch     in a and c   m     in b and c   n
//   in a and b      k         in a only, or in b only: summed before the product
//
// So c[batch, m, n] is the sum over k of a[batch, m, k] b[batch, k, n]. `order_of_einsum` chooses the
// order of the letters in which each array is read and written. If an array has this order already,
// maybe transposed, it is not copied.
//
// The rows are those of a contraction (signature/contraction.hpp). One operand has the rows that it has
// beside a whole number.

#include <string_view>

#include <ashlar/signature/contraction.hpp>
#include <ashlar/signature/dim_letters.hpp>

namespace ashlar {

/// The text of an einsum as an argument of a template.
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

/// Why a text is no einsum.
enum class einsum_fault : signed char { none, form, letter_twice, unknown_letter };

/// The letters of each operand and of the result. `b` is empty if there is one operand.
struct einsum_letters {
  dim_letters a, b, c;
  int operands = 1;
  einsum_fault fault = einsum_fault::none;
};

constexpr einsum_letters read_einsum(einsum_text const& text) {
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
        return read;
      }
  read.a = dim_letters(parts[0]);
  read.b = dim_letters(parts[1]);
  read.c = dim_letters(parts[2]);
  read.fault = einsum_fault::none;
  for (char const letter : parts[2])
    if (!read.a.has(letter) && !read.b.has(letter)) read.fault = einsum_fault::unknown_letter;
  return read;
}

/// Returns the signature table of an einsum of one operand: a permutation of dims, and a sum over the
/// dims whose letters the result lacks.
constexpr signature_table einsum_signatures(std::string_view a, std::string_view c) {
  signature_table table;
  for (auto const& row : contraction_signatures(a, "", c))
    if (row.in[1].is_broadcast()) table.push_back({{row.in[0]}, row.out});
  return table;
}

/// The order of letters in which one array of the product lies, and whether it lies transposed:
/// [batch, k, m] instead of [batch, m, k] for a, and so on. `copied` says that the array has another
/// order and is copied.
struct einsum_array {
  dim_letters order;
  bool transposed = false, copied = false;
};

/// How an einsum of two operands becomes a batch of products of matrices.
struct einsum_order {
  dim_letters batch, m, n, k, a_only, b_only;
  einsum_array a, b, c;
};

namespace detail {

/// Returns the array whose letters are `is`, for a matrix of `rows` x `columns` letters. Letters that
/// are summed before the product come last, and then the array is copied.
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

/// Returns how the einsum becomes products. Expects two operands and no fault.
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
