// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computes a lower bound of the communication of a product C = A B: the least number of elements
// that each of p ranks must receive (Al Daas et al., SPAA 2022). A has m x k elements and B has
// k x n. A, B and C are divided evenly over the ranks, without replication. The bound is the
// minimum, over all grids of pm x pn x pk = p ranks, of
//
//   m k / (pm pk) (1 - 1/pn)  +  k n / (pk pn) (1 - 1/pm)  +  m n / (pm pn) (1 - 1/pk)
//
// The terms are the elements received when A is gathered along pn, when B is gathered along pm, and
// when the addends of C are reduced along pk. This file does not use the library, because the bytes
// that the library receives are compared with this number.

#include "problem.hpp"

namespace ashlar_bench {

struct grid {
  int pm = 1, pn = 1, pk = 1;
};

inline std::string to_string(grid const& g) {
  return std::to_string(g.pm) + "x" + std::to_string(g.pn) + "x" + std::to_string(g.pk);
}

/// Returns the number of elements that a rank receives for the product on grid g, by the formula of
/// the file comment.
inline double received_elements(product_shape const& s, grid const& g) {
  double const m = static_cast<double>(s.m), n = static_cast<double>(s.n);
  double const k = static_cast<double>(s.k);
  double const pm = g.pm, pn = g.pn, pk = g.pk;
  return m * k / (pm * pk) * (1 - 1 / pn) + k * n / (pk * pn) * (1 - 1 / pm) +
         m * n / (pm * pn) * (1 - 1 / pk);
}

/// Returns the grid on which a rank receives the fewest elements. Among equally good grids, prefers
/// the smallest pk, and then the largest pm. This makes pn small. If pn is 1, B is not split by
/// columns, so the gathered rows of B are contiguous and need no unpacking.
inline grid best_grid(product_shape const& s, int ranks) {
  grid best;
  double least = 1e300;
  for (int pk = 1; pk <= ranks; ++pk)
    for (int pm = ranks; pm >= 1; --pm) {
      if (ranks % (pk * pm) != 0) continue;
      grid const g{pm, ranks / (pk * pm), pk};
      double const elements = received_elements(s, g);
      if (elements < least * (1 - 1e-12)) {
        best = g;
        least = elements;
      }
    }
  return best;
}

}  // namespace ashlar_bench
