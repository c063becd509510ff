# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# A BLAS together with its C interface: target CBLAS::CBLAS. CMake's own FindBLAS finds the library
# but not cblas.h, which each distribution keeps elsewhere. OpenBLAS is preferred, then any BLAS that
# FindBLAS knows. Override with CBLAS_LIBRARIES and CBLAS_INCLUDE_DIR. Installed next to the config
# file, so that a user's project searches just as ours does.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_OPENBLAS QUIET openblas)
endif()

find_library(CBLAS_OPENBLAS_LIBRARY NAMES openblas
  HINTS ${PC_OPENBLAS_LIBRARY_DIRS} ENV OPENBLAS_ROOT
  PATHS /opt/homebrew/opt/openblas/lib /usr/local/opt/openblas/lib)
mark_as_advanced(CBLAS_OPENBLAS_LIBRARY)

if(NOT CBLAS_LIBRARIES)
  if(CBLAS_OPENBLAS_LIBRARY)
    set(CBLAS_LIBRARIES "${CBLAS_OPENBLAS_LIBRARY}")
  else()
    find_package(BLAS QUIET)
    set(CBLAS_LIBRARIES ${BLAS_LIBRARIES} ${BLAS_LINKER_FLAGS})
  endif()
endif()

find_path(CBLAS_INCLUDE_DIR cblas.h
  HINTS ${PC_OPENBLAS_INCLUDE_DIRS} ENV OPENBLAS_ROOT
  PATHS /opt/homebrew/opt/openblas/include /usr/local/opt/openblas/include
  PATH_SUFFIXES include openblas openblas-pthread openblas-serial cblas)
mark_as_advanced(CBLAS_INCLUDE_DIR)

# A library without the C interface (the reference libblas of some systems) would fail at link time.
if(CBLAS_LIBRARIES AND CBLAS_INCLUDE_DIR)
  include(CheckCXXSourceCompiles)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_LIBRARIES ${CBLAS_LIBRARIES})
  set(CMAKE_REQUIRED_INCLUDES "${CBLAS_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles(
    "extern \"C\" {\n#include <cblas.h>\n}\nint main() { float x = 1; return int(cblas_sdot(1, &x, 1, &x, 1)) - 1; }"
    CBLAS_LINKS)
  cmake_pop_check_state()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS
  REQUIRED_VARS CBLAS_LIBRARIES CBLAS_INCLUDE_DIR CBLAS_LINKS)

if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
  add_library(CBLAS::CBLAS INTERFACE IMPORTED)
  target_include_directories(CBLAS::CBLAS INTERFACE "${CBLAS_INCLUDE_DIR}")
  target_link_libraries(CBLAS::CBLAS INTERFACE ${CBLAS_LIBRARIES})
endif()
