// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products by the other libraries that CMake found. Each function returns no contestant if
// its library is missing.
//
//   ScaLAPACK      pdgemm or psgemm on block-cyclic matrices, for a given process grid and block
//                  size
//   COSMA          with the layout that COSMA chooses, which is its best case
//   COSMA pdgemm   COSMA behind ScaLAPACK's interface. The time includes converting from the given
//                  layout.

#include <memory>
#include <vector>

#include "../support/trials.hpp"
#include "problem.hpp"

namespace ashlar_bench {

/// A block-cyclic layout: a grid of rows x columns processes, and square blocks of block x block
/// elements.
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
