# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Calls find_package(MPI) and makes sure that the headers and the launcher (mpiexec) belong to the
# same MPI. If Open MPI and MPICH are both installed, the system's defaults may mix them. Every
# process would then run alone, as rank 0 of 1.
#
#   ASHLAR_MPI           input: openmpi or mpich selects one; empty means the system's default
#   ASHLAR_MPI_FAMILY    output: openmpi, mpich, or empty for another or an unknown MPI
#
# Change ASHLAR_MPI only in a fresh build folder, because CMake caches what it found.

set(ASHLAR_MPI "" CACHE STRING "openmpi or mpich, where both are installed; empty: the default")
set_property(CACHE ASHLAR_MPI PROPERTY STRINGS "" openmpi mpich)

# ashlar_find_mpi_program(<variable> <name> <family> [folder...]): finds the program
# <name>.<family>, as Debian names it, or <name> in one of these folders or in those of Fedora and
# Homebrew.
function(ashlar_find_mpi_program variable name family)
  string(REPLACE openmpi open-mpi brew "${family}")
  find_program(${variable} NAMES "${name}.${family}" HINTS ${ARGN})
  find_program(${variable} NAMES "${name}" NO_DEFAULT_PATH PATHS
    ${ARGN} "/usr/lib64/${family}/bin" "/opt/homebrew/opt/${brew}/bin" "/usr/local/opt/${brew}/bin")
endfunction()

if(ASHLAR_MPI)
  ashlar_find_mpi_program(MPI_CXX_COMPILER mpicxx ${ASHLAR_MPI})
  ashlar_find_mpi_program(MPIEXEC_EXECUTABLE mpiexec ${ASHLAR_MPI})
  if(NOT MPI_CXX_COMPILER OR NOT MPIEXEC_EXECUTABLE)
    message(FATAL_ERROR "ashlar: ASHLAR_MPI=${ASHLAR_MPI}, but its mpicxx or mpiexec was not found. "
      "Install it, or give MPI_CXX_COMPILER and MPIEXEC_EXECUTABLE.")
  endif()
endif()
find_package(MPI QUIET COMPONENTS CXX)

set(ASHLAR_MPI_FAMILY "")
if(MPI_CXX_FOUND)
  foreach(folder IN LISTS MPI_CXX_INCLUDE_DIRS)
    if(EXISTS "${folder}/mpi.h" AND NOT ASHLAR_MPI_FAMILY)
      file(STRINGS "${folder}/mpi.h" marks REGEX "define +(OMPI_MAJOR_VERSION|MPICH_VERSION)")
      if(marks MATCHES "OMPI_MAJOR_VERSION")
        set(ASHLAR_MPI_FAMILY openmpi)
      elseif(marks MATCHES "MPICH_VERSION")
        set(ASHLAR_MPI_FAMILY mpich)
      endif()
    endif()
  endforeach()

  set(ashlar_launcher "")
  if(MPIEXEC_EXECUTABLE)
    execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version
      OUTPUT_VARIABLE ashlar_version ERROR_VARIABLE ashlar_version)
    if(ashlar_version MATCHES "Open MPI|OpenRTE|PRRTE|prte")
      set(ashlar_launcher openmpi)
    elseif(ashlar_version MATCHES "HYDRA")
      set(ashlar_launcher mpich)
    endif()
  endif()
  if(ASHLAR_MPI_FAMILY AND ashlar_launcher AND NOT ASHLAR_MPI_FAMILY STREQUAL ashlar_launcher)
    cmake_path(GET MPI_CXX_COMPILER PARENT_PATH ashlar_mpi_folder)
    ashlar_find_mpi_program(ASHLAR_MPIEXEC mpiexec ${ASHLAR_MPI_FAMILY} "${ashlar_mpi_folder}")
    if(ASHLAR_MPIEXEC AND NOT ASHLAR_MPIEXEC STREQUAL MPIEXEC_EXECUTABLE)
      message(STATUS "ashlar: ${MPIEXEC_EXECUTABLE} starts programs of ${ashlar_launcher}, the "
        "compiler is ${ASHLAR_MPI_FAMILY}'s: ${ASHLAR_MPIEXEC} is used instead")
      set(MPIEXEC_EXECUTABLE "${ASHLAR_MPIEXEC}" CACHE FILEPATH "Starts MPI programs" FORCE)
    else()
      message(WARNING "ashlar: ${MPIEXEC_EXECUTABLE} starts programs of ${ashlar_launcher}, but the "
        "compiler is ${ASHLAR_MPI_FAMILY}'s. Give MPIEXEC_EXECUTABLE, or ASHLAR_MPI=${ashlar_launcher}.")
    endif()
  endif()
endif()
