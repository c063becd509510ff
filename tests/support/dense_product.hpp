// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The reference for matmul: three loops over dense arrays.

#include <utility>

#include <support/dense.hpp>

namespace ashlar_test {

/// Returns op(a) · op(b) for two matrices, or for two batches of matrices. op transposes a if `ta`
/// is true, and b if `tb` is true.
inline dense product(dense const& a, dense const& b, bool ta, bool tb) {
  int const rank = a.rank(), batch = rank == 3 ? a.extent(0) : 1;
  int const m = a.extent(ta ? rank - 1 : rank - 2), k = a.extent(ta ? rank - 2 : rank - 1);
  int const n = b.extent(tb ? rank - 2 : rank - 1);
  dense c(rank == 3 ? index{batch, m, n} : index{m, n});
  auto const at = [](dense const& x, int s, int i, int j, bool t) {
    if (t) std::swap(i, j);
    return x(x.rank() == 3 ? index{s, i, j} : index{i, j});
  };
  for (int s = 0; s < batch; ++s)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += at(a, s, i, l, ta) * at(b, s, l, j, tb);
        c(rank == 3 ? index{s, i, j} : index{i, j}) = sum;
      }
  return c;
}

}  // namespace ashlar_test
