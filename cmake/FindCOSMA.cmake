# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds COSMA with its ScaLAPACK interface, for the benchmarks, and defines COSMA::COSMA. COSMA is
# built on COSTA, which is installed below the same prefix. FindCOSTA.cmake says why we do not use
# the config files that these libraries install.

include(FindPackageHandleStandardArgs)

find_package(COSTA QUIET)
find_package(ScaLAPACK QUIET)
find_path(COSMA_INCLUDE_DIR cosma/multiply.hpp)
find_library(COSMA_LIBRARY NAMES cosma)
find_library(COSMA_PXGEMM_LIBRARY NAMES cosma_prefixed_pxgemm)
mark_as_advanced(COSMA_INCLUDE_DIR COSMA_LIBRARY COSMA_PXGEMM_LIBRARY)

find_package_handle_standard_args(COSMA REQUIRED_VARS
  COSMA_LIBRARY COSMA_PXGEMM_LIBRARY COSMA_INCLUDE_DIR COSTA_FOUND ScaLAPACK_FOUND)
if(COSMA_FOUND AND NOT TARGET COSMA::COSMA)
  add_library(COSMA::COSMA UNKNOWN IMPORTED)
  set_target_properties(COSMA::COSMA PROPERTIES
    IMPORTED_LOCATION "${COSMA_PXGEMM_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${COSMA_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "COSMA_WITH_BLAS"
    INTERFACE_LINK_LIBRARIES
      "${COSMA_LIBRARY};COSTA::COSTA;ScaLAPACK::ScaLAPACK;CBLAS::CBLAS;MPI::MPI_CXX")
endif()
