// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Contractions (matmul in all its forms) from letters, one letter a dimension, as in einsum:
//
//   matmul "mk","kn" -> "mn"        transposed "km","kn" -> "mn"      batched "bmk","bkn" -> "bmn"
//   a linear layer "bsd","df" -> "bsf"
//
// Rows, per axis: every letter may be split on all operands that have it, and then the result is
// split on it or, if it is summed over, partial. Beside these all whole, and each operand partial
// with the other whole (the map is linear in each operand). For matmul these are six; P, P never holds.

#include <string_view>

#include <ashlar/signature/signature.hpp>

namespace ashlar {
namespace detail {

/// The role of an operand when `letter` is split: S(its position), or B if it lacks the letter.
constexpr axis_placement role_of(std::string_view letters, char letter) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i] == letter) return split(static_cast<int>(i), 0);
  return broadcast();
}

}  // namespace detail

/// The rule table of the contraction a, b -> c.
constexpr signature_table contraction_signatures(std::string_view a, std::string_view b,
                                                 std::string_view c) {
  signature_table table;
  auto const add = [&](axis_placement x, axis_placement y, axis_placement z) {
    signature const row{{x, y}, z};
    if (!table.contains(row)) table.push_back(row);
  };
  add(broadcast(), broadcast(), broadcast());
  for (std::string_view const letters : {a, b})
    for (char const letter : letters) {
      auto const result = detail::role_of(c, letter);
      add(detail::role_of(a, letter), detail::role_of(b, letter),
          result.is_split() ? result : partial());
    }
  add(partial(), broadcast(), partial());
  add(broadcast(), partial(), partial());
  return table;
}

/// Matmul of matrices, either of them transposed.
constexpr signature_table matmul_signatures(bool transpose_a = false, bool transpose_b = false) {
  return contraction_signatures(transpose_a ? "km" : "mk", transpose_b ? "nk" : "kn", "mn");
}

/// Matmul of rank-3 tensors with a common leading batch dimension.
constexpr signature_table batched_matmul_signatures(bool transpose_a = false,
                                                    bool transpose_b = false) {
  return contraction_signatures(transpose_a ? "bkm" : "bmk", transpose_b ? "bnk" : "bkn", "bmn");
}

/// Either of them, by the operands' number of dims (2 or 3).
constexpr signature_table product_signatures(int rank, bool transpose_a, bool transpose_b) {
  return rank == 2 ? matmul_signatures(transpose_a, transpose_b)
                   : batched_matmul_signatures(transpose_a, transpose_b);
}

}  // namespace ashlar
