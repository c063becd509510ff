# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds ScaLAPACK with BLACS in one library, for the benchmarks, and defines ScaLAPACK::ScaLAPACK.
# Debian has one package for each MPI (libscalapack-openmpi-dev, libscalapack-mpich-dev). This
# module searches for the package of the MPI in use.

include(FindPackageHandleStandardArgs)

# A library that was built for Open MPI cannot use communicators of MPICH, and the reverse.
set(name scalapack-openmpi)
if(MPI_CXX_LIBRARIES MATCHES "mpich")
  set(name scalapack-mpich)
endif()
find_library(ScaLAPACK_LIBRARY NAMES ${name} scalapack)
mark_as_advanced(ScaLAPACK_LIBRARY)

find_package_handle_standard_args(ScaLAPACK REQUIRED_VARS ScaLAPACK_LIBRARY)
if(ScaLAPACK_FOUND AND NOT TARGET ScaLAPACK::ScaLAPACK)
  add_library(ScaLAPACK::ScaLAPACK UNKNOWN IMPORTED)
  set_target_properties(ScaLAPACK::ScaLAPACK PROPERTIES IMPORTED_LOCATION "${ScaLAPACK_LIBRARY}")
endif()
