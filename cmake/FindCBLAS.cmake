# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds a BLAS together with its C interface and defines CBLAS::CBLAS. CMake's own FindBLAS finds
# the library but not cblas.h, which each distribution puts into another folder. This module uses
# the first BLAS of this list that it finds:
#
#   CBLAS_LIBRARIES with CBLAS_INCLUDE_DIR      the user's choice
#   BLA_VENDOR                                  the BLAS of that name, found by FindBLAS
#   OpenBLAS, BLIS, MKL, Arm, Apple             the optimized libraries, in this order
#   any other BLAS that FindBLAS knows
#
# CBLAS_IS_REFERENCE tells whether the result is the reference BLAS, which is about thirty times
# slower than the others. In that case a warning in capitals is printed. This file is installed next
# to the config file, so that users' projects search in the same way.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_OPENBLAS QUIET openblas)
endif()

find_library(CBLAS_OPENBLAS_LIBRARY NAMES openblas
  HINTS ${PC_OPENBLAS_LIBRARY_DIRS} ENV OPENBLAS_ROOT
  PATHS /opt/homebrew/opt/openblas/lib /usr/local/opt/openblas/lib)
find_library(CBLAS_BLIS_LIBRARY NAMES blis)
find_library(CBLAS_MKL_LIBRARY NAMES mkl_rt HINTS ENV MKLROOT PATH_SUFFIXES lib lib/intel64)
find_library(CBLAS_ARM_LIBRARY NAMES armpl_lp64 armpl HINTS ENV ARMPL_DIR PATH_SUFFIXES lib)
if(APPLE)
  find_library(CBLAS_APPLE_LIBRARY NAMES Accelerate)
endif()
mark_as_advanced(CBLAS_OPENBLAS_LIBRARY CBLAS_BLIS_LIBRARY CBLAS_MKL_LIBRARY CBLAS_ARM_LIBRARY
  CBLAS_APPLE_LIBRARY)

if(NOT CBLAS_LIBRARIES AND NOT BLA_VENDOR)
  foreach(library OPENBLAS BLIS MKL ARM APPLE)
    if(CBLAS_${library}_LIBRARY)
      set(CBLAS_LIBRARIES "${CBLAS_${library}_LIBRARY}")
      break()
    endif()
  endforeach()
endif()
if(NOT CBLAS_LIBRARIES)
  find_package(BLAS QUIET)
  set(CBLAS_LIBRARIES ${BLAS_LIBRARIES} ${BLAS_LINKER_FLAGS})
endif()

find_path(CBLAS_INCLUDE_DIR cblas.h
  HINTS ${PC_OPENBLAS_INCLUDE_DIRS} ENV OPENBLAS_ROOT ENV MKLROOT ENV ARMPL_DIR
  PATHS /opt/homebrew/opt/openblas/include /usr/local/opt/openblas/include
  PATH_SUFFIXES include openblas openblas-pthread openblas-serial blis cblas)
mark_as_advanced(CBLAS_INCLUDE_DIR)

# oneMKL has no cblas.h. Its C interface is mkl_cblas.h, so a cblas.h that includes it is made.
if(NOT CBLAS_INCLUDE_DIR AND CBLAS_LIBRARIES MATCHES "mkl_")
  find_path(CBLAS_MKL_INCLUDE_DIR mkl_cblas.h HINTS ENV MKLROOT PATH_SUFFIXES include mkl)
  mark_as_advanced(CBLAS_MKL_INCLUDE_DIR)
  if(CBLAS_MKL_INCLUDE_DIR)
    set(CBLAS_INCLUDE_DIR "${CMAKE_BINARY_DIR}/ashlar_mkl")
    file(CONFIGURE OUTPUT "${CBLAS_INCLUDE_DIR}/cblas.h" @ONLY
      CONTENT "#include \"@CBLAS_MKL_INCLUDE_DIR@/mkl_cblas.h\"\n")
  endif()
endif()

# Detects the reference BLAS: its file is called libblas, librefblas or libcblas, and contains none
# of the names of optimized libraries. The file of an optimized library contains the library's name,
# whatever the file is called.
set(CBLAS_IS_REFERENCE FALSE)
if(CBLAS_LIBRARIES AND NOT APPLE)
  list(GET CBLAS_LIBRARIES 0 cblas_first)
  if(EXISTS "${cblas_first}")
    file(REAL_PATH "${cblas_first}" cblas_real)
    file(STRINGS "${cblas_real}" cblas_names LIMIT_COUNT 1
      REGEX "[Oo][Pp][Ee][Nn][Bb][Ll][Aa][Ss]|[Bb][Ll][Ii][Ss]_|[Mm][Kk][Ll]_|ATLAS|ATL_|[Aa][Rr][Mm][Pp][Ll]|[Ff]lexi[Bb][Ll][Aa][Ss]|NVPL|ESSL")
    if(NOT cblas_names AND cblas_real MATCHES "/lib(ref|c)?blas[^/]*$")
      set(CBLAS_IS_REFERENCE TRUE)
    endif()
  endif()
endif()
if(CBLAS_IS_REFERENCE)
  message(WARNING "ashlar: ${cblas_real} IS THE REFERENCE BLAS, WHICH IS SOME THIRTY TIMES SLOWER THAN AN "
    "OPTIMIZED ONE. Install OpenBLAS (Debian: libopenblas-dev), or give CBLAS_LIBRARIES and "
    "CBLAS_INCLUDE_DIR of another, and configure in a new build folder.")
endif()

# Tests that the library contains the C interface, which the reference libblas of some systems
# lacks. Without this test, the error would appear only when a program is linked. The result is
# cached, so it is discarded if the library or the folder of the header has changed.
if(CBLAS_LIBRARIES AND CBLAS_INCLUDE_DIR)
  set(cblas_now "${CBLAS_LIBRARIES};${CBLAS_INCLUDE_DIR}")
  if(NOT "${cblas_now}" STREQUAL "${CBLAS_TESTED}")
    unset(CBLAS_LINKS CACHE)
  endif()
  set(CBLAS_TESTED "${cblas_now}" CACHE INTERNAL "The library and the folder that CBLAS_LINKS is of")
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
