// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Rule tables of contractions (matmul in all its forms). As in einsum, a string names each
// operand's dimensions with one letter per dimension:
//
//   matmul "mk","kn" -> "mn"        transposed "km","kn" -> "mn"      batched "bmk","bkn" -> "bmn"
//   a linear layer "bsd","df" -> "bsf"
//
// The table has these rows for one mesh axis:
//   - Any one letter may be split, on all operands that have it. The result is then split on this
//     letter, or partial if the contraction sums over it.
//   - Both operands may be broadcast. The result is then broadcast.
//   - One operand may be partial while the other is broadcast, because a contraction is linear in
//     each operand. The result is then partial.
// A matmul of matrices has six rows. Two partial operands never have a local result.

#include <string_view>

#include <ashlar/signature/signature.hpp>

namespace ashlar {
namespace detail {

/// Returns an operand's role when `letter` is split: S(the letter's position), or B without the
/// letter.
constexpr axis_placement role_of(std::string_view letters, char letter) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i] == letter) return split(static_cast<int>(i), 0);
  return broadcast();
}

}  // namespace detail

/// Returns the rule table of the contraction a, b -> c.
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

/// Returns the table of a matmul of two matrices, each optionally transposed.
constexpr signature_table matmul_signatures(bool transpose_a = false, bool transpose_b = false) {
  return contraction_signatures(transpose_a ? "km" : "mk", transpose_b ? "nk" : "kn", "mn");
}

/// Returns the table of a matmul of rank-3 tensors with a common leading batch dimension.
constexpr signature_table batched_matmul_signatures(bool transpose_a = false,
                                                    bool transpose_b = false) {
  return contraction_signatures(transpose_a ? "bkm" : "bmk", transpose_b ? "bnk" : "bkn", "bmn");
}

/// Returns one of the two tables above, by the operands' number of dims (2 or 3).
constexpr signature_table product_signatures(int rank, bool transpose_a, bool transpose_b) {
  return rank == 2 ? matmul_signatures(transpose_a, transpose_b)
                   : batched_matmul_signatures(transpose_a, transpose_b);
}

}  // namespace ashlar
