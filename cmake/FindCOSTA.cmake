# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds COSTA, for the benchmarks, and defines COSTA::COSTA. This module is needed because the
# config file that COSTA 2.3 installs does not load in CMake 3.25.

include(FindPackageHandleStandardArgs)

find_path(COSTA_INCLUDE_DIR costa/layout.hpp)
find_library(COSTA_LIBRARY NAMES costa)
mark_as_advanced(COSTA_INCLUDE_DIR COSTA_LIBRARY)
find_package(OpenMP QUIET COMPONENTS CXX)

find_package_handle_standard_args(COSTA
  REQUIRED_VARS COSTA_LIBRARY COSTA_INCLUDE_DIR OpenMP_CXX_FOUND)
if(COSTA_FOUND AND NOT TARGET COSTA::COSTA)
  add_library(COSTA::COSTA UNKNOWN IMPORTED)
  set_target_properties(COSTA::COSTA PROPERTIES
    IMPORTED_LOCATION "${COSTA_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${COSTA_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "MPI::MPI_CXX;OpenMP::OpenMP_CXX")
endif()
