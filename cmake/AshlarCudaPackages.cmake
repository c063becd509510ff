# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds the packages that ashlar::cuda needs: nvcc, the CUDA runtime, cuBLASLt and NCCL. The
# library's own build and the installed config file include this file at file scope. This file sets
#
#   ASHLAR_CUDA_PACKAGES_FOUND   whether all packages were found
#   ASHLAR_CUDA_MISSING          the names of the missing packages, for a message
#   ASHLAR_NVCC                  the first of: CMAKE_CUDA_COMPILER, $CUDACXX, the nvcc of
#                                CUDAToolkit_ROOT, $CUDA_PATH or $CUDA_HOME, the nvcc in the PATH,
#                                and /usr/local/cuda/bin/nvcc
#
# CMake's language CUDA is not enabled. It would have to be enabled in the user's top folder, and
# then nvcc's rules would link every target that links ours. Instead a custom command calls nvcc for
# one file (AshlarCuda.cmake).

if(CMAKE_CUDA_COMPILER)
  set(ASHLAR_NVCC "${CMAKE_CUDA_COMPILER}" CACHE FILEPATH "Compiles the CUDA kernels")
elseif(NOT "$ENV{CUDACXX}" STREQUAL "")
  set(ASHLAR_NVCC "$ENV{CUDACXX}" CACHE FILEPATH "Compiles the CUDA kernels")
endif()
find_program(ASHLAR_NVCC nvcc HINTS ${CUDAToolkit_ROOT} ENV CUDA_PATH ENV CUDA_HOME
  PATHS /usr/local/cuda PATH_SUFFIXES bin DOC "Compiles the CUDA kernels")
mark_as_advanced(ASHLAR_NVCC)

set(ASHLAR_CUDA_MISSING "")
if(ASHLAR_NVCC)
  # Use the toolkit that this nvcc belongs to, and not another installed one.
  if(NOT CUDAToolkit_ROOT)
    cmake_path(GET ASHLAR_NVCC PARENT_PATH CUDAToolkit_ROOT)
    cmake_path(GET CUDAToolkit_ROOT PARENT_PATH CUDAToolkit_ROOT)
  endif()
  find_package(CUDAToolkit 12.1 QUIET)
  find_package(NCCL 2.27 QUIET)
  if(NOT CUDAToolkit_FOUND)
    list(APPEND ASHLAR_CUDA_MISSING "a CUDA toolkit, 12.1 or later")
  else()
    if(NOT TARGET CUDA::cudart)
      list(APPEND ASHLAR_CUDA_MISSING "the CUDA runtime library")
    endif()
    if(NOT TARGET CUDA::cublasLt)
      list(APPEND ASHLAR_CUDA_MISSING "cuBLASLt")
    endif()
  endif()
  if(NOT NCCL_FOUND)
    list(APPEND ASHLAR_CUDA_MISSING "NCCL 2.27 or later")
  endif()
else()
  list(APPEND ASHLAR_CUDA_MISSING "nvcc")
endif()
list(JOIN ASHLAR_CUDA_MISSING " and " ASHLAR_CUDA_MISSING)
if(ASHLAR_CUDA_MISSING)
  set(ASHLAR_CUDA_PACKAGES_FOUND FALSE)
else()
  set(ASHLAR_CUDA_PACKAGES_FOUND TRUE)
endif()
