// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A program that links MPI and BLAS, and, with ALL_HEADERS, includes the umbrella header.

#include <iostream>

#include <cblas.h>
#include <mpi.h>

#ifdef ALL_HEADERS
#include <ashlar/ashlar.hpp>
#else
#include <ashlar/config.hpp>
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  float const one = 1.0F;
  bool const right = cblas_sdot(1, &one, 1, &one, 1) == 1.0F && size == 1;
  MPI_Finalize();
  std::cout << "ashlar::ashlar is " << (right ? "here" : "wrong") << '\n';
  return right ? 0 : 1;
}
