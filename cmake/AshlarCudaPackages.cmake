# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# What ashlar::cuda needs: nvcc, the CUDA runtime, cuBLASLt and NCCL. Included at file scope by the
# library's own build and by the installed config file; sets
#
#   ASHLAR_CUDA_PACKAGES_FOUND
#   ASHLAR_CUDA_MISSING          what is not there, as a sentence names it
#   ASHLAR_NVCC                  CMAKE_CUDA_COMPILER, $CUDACXX, the PATH's nvcc, or /usr/local/cuda's
#
# The language CUDA is not enabled: it would have to be in the user's top folder, and every target that
# links ours would have to be linked by nvcc's rules. nvcc compiles one file, by a command (AshlarCuda.cmake).

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
  if(NOT CUDAToolkit_ROOT) # the toolkit that this nvcc belongs to, not another one beside it
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
