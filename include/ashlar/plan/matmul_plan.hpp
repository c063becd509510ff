// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a matrix product c = a · b as data. Letters name the dims of the product:
//
//   m   rows of a and c          n   columns of b and c
//   k   the contracted dim       b   the batch (rank 3 only)
//
// The local GEMM reads a' and b' and makes c', at placements that the plan chooses. A plan without
// panels (plan/matmul_stream.hpp) runs these phases one after another:
//
//   1. the redistribution from a to a'
//   2. the redistribution from b to b'
//   3. the local GEMM
//   4. the release of a' and b'
//   5. the redistribution from c' to c

#include <string_view>

#include <ashlar/machine/gemm.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

/// The letters that name the dims of the operands and of the result. Each string has the order of
/// its tensor's dims.
struct product_letters {
  std::string_view a, b, c;

  constexpr product_letters(int rank, bool transpose_a, bool transpose_b)
      : a(transpose_a ? "bkm" : "bmk"), b(transpose_b ? "bnk" : "bkn"), c("bmn") {
    if (rank == 2) a.remove_prefix(1), b.remove_prefix(1), c.remove_prefix(1);
  }
  /// Returns the index of the dim that a letter names, or -1 if the tensor does not have this dim.
  static constexpr int dim_of(std::string_view letters, char letter) {
    for (std::size_t d = 0; d < letters.size(); ++d)
      if (letters[d] == letter) return static_cast<int>(d);
    return -1;
  }
};

/// The extents of one rank's local product.
struct gemm_extents {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;

  constexpr double operations() const {
    return 2.0 * double(batch) * double(m) * double(n) * double(k);
  }
  friend constexpr bool operator==(gemm_extents const&, gemm_extents const&) = default;
};

/// Returns the seconds of the local product.
constexpr double gemm_seconds(machine const& on, gemm_extents const& g) {
  return gemm_seconds(on, g.operations(), g.m, g.n, g.k);
}

/// Describes how a plan divides a streamed dim. Nested balanced splits cut the dim into chunks[0]
/// parts, each part into chunks[1] parts, and so on. The smallest parts are the chunks. If `chunks`
/// is empty, the dim is one chunk. Every chunk is cut into `count` slices. Panel i consists of
/// slice i of every chunk.
struct panel_stream {
  char letter = 0;  ///< the streamed dim, 'm', 'n', 'k' or 'b', or 0 if the plan has no panels
  int count = 1;
  inplace_vector<int, max_axes> chunks;

  friend constexpr bool operator==(panel_stream const&, panel_stream const&) = default;
};

struct matmul_plan {
  redistribution_plan a, b;  ///< operands: from the given placements to a' and b'
  redistribution_plan c;     ///< result: from c' to the wanted placement
  bool transpose_a = false, transpose_b = false;
  gemm_extents gemm;    ///< extents of rank 0's local product (the largest)
  panel_stream panels;  ///< division into panels; letter 0: there are none
  double gemm_seconds = 0;
  double seconds = 0;           ///< predicted seconds, including communication
  std::int64_t peak_bytes = 0;  ///< predicted peak memory per rank (plan/matmul_memory.hpp)

  constexpr product_letters letters() const { return {a.extents.rank(), transpose_a, transpose_b}; }
  friend constexpr bool operator==(matmul_plan const&, matmul_plan const&) = default;
};

/// A plan of a product with its mesh and its machine, for printing (plan/matmul_text.hpp).
struct matmul_report : matmul_plan {
  topology mesh;
  machine priced_on;
};

}  // namespace ashlar
