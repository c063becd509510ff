// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a matrix product as data. Letters name what an axis or a panel cuts:
//
//   m   rows of a and c          n   columns of b and c
//   k   the contracted dim       b   the batch (rank 3 only)
//
// Unless it streams (plan/matmul_stream.hpp), a plan runs so, and each line ends before the next:
// a's steps; b's steps; the local GEMM; a' and b' are given back; c's steps.

#include <string_view>

#include <ashlar/machine/gemm.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

/// The letters of the operands' dims and of the result's, in order.
struct product_letters {
  std::string_view a, b, c;

  constexpr product_letters(int rank, bool transpose_a, bool transpose_b)
      : a(transpose_a ? "bkm" : "bmk"), b(transpose_b ? "bnk" : "bkn"), c("bmn") {
    if (rank == 2) a.remove_prefix(1), b.remove_prefix(1), c.remove_prefix(1);
  }
  /// The dim that a letter names; -1 where the tensor lacks it.
  static constexpr int dim_of(std::string_view letters, char letter) {
    for (std::size_t d = 0; d < letters.size(); ++d)
      if (letters[d] == letter) return static_cast<int>(d);
    return -1;
  }
};

/// The local product of one rank.
struct gemm_extents {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;

  constexpr double operations() const { return 2.0 * double(batch) * double(m * n) * double(k); }
  friend constexpr bool operator==(gemm_extents const&, gemm_extents const&) = default;
};

/// Seconds of the local product.
constexpr double gemm_seconds(machine const& on, gemm_extents const& g) {
  return gemm_seconds(on, g.operations(), g.m, g.n, g.k);
}

/// How a plan streams: panel i is slice i of `count` of every chunk of the letter's dim; the
/// nested balanced splits by `chunks` cut the dim into chunks (none: the dim is one chunk).
struct panel_stream {
  char letter = 0;  ///< 'm', 'n', 'k', 'b'; 0: the plan does not stream
  int count = 1;
  inplace_vector<int, max_axes> chunks;

  friend constexpr bool operator==(panel_stream const&, panel_stream const&) = default;
};

struct matmul_plan {
  redistribution_plan a, b;  ///< of the operands, to where the local product wants them
  redistribution_plan c;     ///< of the result, from where the local product leaves it
  bool transpose_a = false, transpose_b = false;
  gemm_extents gemm;    ///< of rank 0, which has the largest
  panel_stream panels;  ///< how it streams, if it does
  double gemm_seconds = 0;
  double seconds = 0;           ///< predicted, communication included
  std::int64_t peak_bytes = 0;  ///< per rank; plan/matmul_memory.hpp says of what

  constexpr product_letters letters() const { return {a.extents.rank(), transpose_a, transpose_b}; }
  friend constexpr bool operator==(matmul_plan const&, matmul_plan const&) = default;
};

/// A plan of a product with the mesh and the machine it was made for, ready to print
/// (plan/matmul_text.hpp).
struct matmul_report : matmul_plan {
  topology mesh;
  machine priced_on;
};

}  // namespace ashlar
