// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a matrix product as data. Letters name the dims that an axis or a panel cuts:
//
//   m   rows of a and c          n   columns of b and c
//   k   the contracted dim       b   the batch (rank 3 only)
//
// The local GEMM computes c' from a' and b', the operands at the placements that it needs. Unless a
// plan streams (plan/matmul_stream.hpp), it runs the following phases one after another: the steps
// from a to a'; the steps from b to b'; the local GEMM; a' and b' are freed; the steps from c' to
// c.

#include <string_view>

#include <ashlar/machine/gemm.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

/// The letters of the operands' and the result's dims, in order.
struct product_letters {
  std::string_view a, b, c;

  constexpr product_letters(int rank, bool transpose_a, bool transpose_b)
      : a(transpose_a ? "bkm" : "bmk"), b(transpose_b ? "bnk" : "bkn"), c("bmn") {
    if (rank == 2) a.remove_prefix(1), b.remove_prefix(1), c.remove_prefix(1);
  }
  /// Returns the dim that a letter names, or -1 if the tensor lacks it.
  static constexpr int dim_of(std::string_view letters, char letter) {
    for (std::size_t d = 0; d < letters.size(); ++d)
      if (letters[d] == letter) return static_cast<int>(d);
    return -1;
  }
};

/// The extents of the local product of one rank.
struct gemm_extents {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;

  constexpr double operations() const { return 2.0 * double(batch) * double(m * n) * double(k); }
  friend constexpr bool operator==(gemm_extents const&, gemm_extents const&) = default;
};

/// Returns the seconds of the local product.
constexpr double gemm_seconds(machine const& on, gemm_extents const& g) {
  return gemm_seconds(on, g.operations(), g.m, g.n, g.k);
}

/// Describes how a plan streams. Nested balanced splits by `chunks` cut the letter's dim into
/// chunks (if `chunks` is empty, the dim is one chunk). Every chunk is cut into `count` slices, and
/// panel i consists of slice i of every chunk.
struct panel_stream {
  char letter = 0;  ///< 'm', 'n', 'k' or 'b'; 0: the plan does not stream
  int count = 1;
  inplace_vector<int, max_axes> chunks;

  friend constexpr bool operator==(panel_stream const&, panel_stream const&) = default;
};

struct matmul_plan {
  redistribution_plan a, b;  ///< of the operands: from the given placements to a' and b'
  redistribution_plan c;     ///< of the result: from c' to the wanted placement
  bool transpose_a = false, transpose_b = false;
  gemm_extents gemm;    ///< of rank 0, whose product is the largest
  panel_stream panels;  ///< how the plan streams; letter 0: it does not
  double gemm_seconds = 0;
  double seconds = 0;           ///< predicted, including communication
  std::int64_t peak_bytes = 0;  ///< per rank, as in plan/matmul_memory.hpp

  constexpr product_letters letters() const { return {a.extents.rank(), transpose_a, transpose_b}; }
  friend constexpr bool operator==(matmul_plan const&, matmul_plan const&) = default;
};

/// A plan of a product with the mesh and the machine for which it was made, ready to print
/// (plan/matmul_text.hpp).
struct matmul_report : matmul_plan {
  topology mesh;
  machine priced_on;
};

}  // namespace ashlar
