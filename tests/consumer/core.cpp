// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A user of the planner alone: compiled and linked without MPI and BLAS.

#include <iostream>

#include <ashlar/config.hpp>

#ifdef OMPI_SKIP_MPICXX
#error "ashlar::core brought in MPI's definitions"
#endif

int main() { std::cout << "ashlar::core is here\n"; }
