// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of contractions (matmul in all its forms). A signature row says with
// which placements of its operands the operator is local on one mesh axis. As in einsum, a string
// names each operand's dims with one letter per dim:
//
//   matmul "mk","kn" -> "mn"        transposed "km","kn" -> "mn"      batched "bmk","bkn" -> "bmn"
//   a linear layer "bsd","df" -> "bsf"
//
// A contraction has these rows:
//   - Any one letter is split, on all operands that have it. The result is then split on this
//     letter, or partial if the contraction sums over it.
//   - Both operands are broadcast, and so is the result.
//   - One operand is partial and the other is broadcast. The result is then partial, because a
//     contraction is linear in each operand.
// A matmul of matrices has six rows. No row has two partial operands, because a product of sums is
// not the sum of the products.

#include <string_view>

#include <ashlar/signature/signature.hpp>

namespace ashlar {
namespace detail {

/// Returns the placement of an operand if `letter` is split: S(the letter's position), or B if the
/// operand does not have the letter.
constexpr axis_placement role_of(std::string_view letters, char letter) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i] == letter) return split(static_cast<int>(i), 0);
  return broadcast();
}

}  // namespace detail

/// Returns the signature table of the contraction a, b -> c, with dims given by letters.
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

/// Returns the signature table of a matrix times a vector, or of a vector times a matrix if the
/// vector is first. The matrix is optionally transposed.
constexpr signature_table matvec_signatures(bool vector_first, bool transposed = false) {
  return vector_first ? contraction_signatures("k", transposed ? "nk" : "kn", "n")
                      : contraction_signatures(transposed ? "km" : "mk", "k", "m");
}

/// Returns the signature table of a matmul of two matrices, each optionally transposed.
constexpr signature_table matmul_signatures(bool transpose_a = false, bool transpose_b = false) {
  return contraction_signatures(transpose_a ? "km" : "mk", transpose_b ? "nk" : "kn", "mn");
}

/// Returns the signature table of a matmul of rank-3 tensors with a common leading batch dim.
constexpr signature_table batched_matmul_signatures(bool transpose_a = false,
                                                    bool transpose_b = false) {
  return contraction_signatures(transpose_a ? "bkm" : "bmk", transpose_b ? "bnk" : "bkn", "bmn");
}

/// Returns the signature table of a matmul of matrices (rank 2) or of batches of matrices (rank 3).
constexpr signature_table product_signatures(int rank, bool transpose_a, bool transpose_b) {
  return rank == 2 ? matmul_signatures(transpose_a, transpose_b)
                   : batched_matmul_signatures(transpose_a, transpose_b);
}

}  // namespace ashlar
