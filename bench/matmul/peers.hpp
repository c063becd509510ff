// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Other libraries' products, where CMake found them.
//
//   ScaLAPACK     pdgemm, psgemm on block-cyclic matrices of a process grid and a block size
//   COSMA         in the layout that it chooses for itself: its best case
//   COSMA pdgemm  the same behind ScaLAPACK's interface, so with the relayout of a given placement

#include <memory>
#include <vector>

#include "../support/trials.hpp"
#include "problem.hpp"

namespace ashlar_bench {

/// Rows and columns of the process grid, and the order of the square blocks.
struct cyclic_layout {
  int rows = 1, columns = 1, block = 128;
};

template <class T>
std::vector<contestant> scalapack_product(MPI_Comm comm, product_shape const& s,
                                          cyclic_layout const& l,
                                          std::shared_ptr<reference const> expected);
template <class T>
std::vector<contestant> cosma_product(MPI_Comm comm, product_shape const& s,
                                      std::shared_ptr<reference const> expected);
template <class T>
std::vector<contestant> cosma_pdgemm_product(MPI_Comm comm, product_shape const& s,
                                             cyclic_layout const& l,
                                             std::shared_ptr<reference const> expected);

}  // namespace ashlar_bench
