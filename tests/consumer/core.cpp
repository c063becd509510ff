// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A program that links only the planner, ashlar::core. It compiles and links without MPI and BLAS.

#include <iostream>

#include <ashlar/config.hpp>

#ifdef OMPI_SKIP_MPICXX
#error "ashlar::core brought in MPI's definitions"
#endif

int main() { std::cout << "ashlar::core is here\n"; }
