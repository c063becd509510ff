# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Defines the public targets. The headers of a target are all headers in its folders, which are
# called rooms, so that a new header needs no change here.
#
#   ashlar::core      the rooms of ashlar_core_rooms      needs only a C++20 compiler
#   ashlar::ashlar    core and ashlar_full_rooms          needs MPI and a BLAS with cblas.h
#   ashlar::compiled  ashlar::ashlar with its large functions compiled in a library
#   ashlar::precompiled  ashlar::compiled with a precompiled header (AshlarCompiled.cmake)
#   ashlar::json      core and io/json                    needs nlohmann_json
#   ashlar::checkpoint  ashlar::ashlar, ashlar::json and the room checkpoint
#   ashlar::cuda      ashlar::ashlar and the folders cuda and nccl of the rooms
#                                                         needs nvcc, CUDA, cuBLASLt and NCCL

set(ashlar_include_dir "${PROJECT_SOURCE_DIR}/include")
set(ashlar_core_rooms support placement mesh layout signature machine plan step search sync)
set(ashlar_full_rooms device comm tensor io nn train)

# A room that is in no target would be missing in an installation, and no other error would show it.
file(GLOB ashlar_folders RELATIVE "${ashlar_include_dir}/ashlar" CONFIGURE_DEPENDS
  "${ashlar_include_dir}/ashlar/*")
foreach(room IN LISTS ashlar_folders)
  if(IS_DIRECTORY "${ashlar_include_dir}/ashlar/${room}"
      AND NOT room IN_LIST ashlar_core_rooms AND NOT room IN_LIST ashlar_full_rooms
      AND NOT room MATCHES "^(checkpoint|compiled)$")
    message(FATAL_ERROR "ashlar: no target has the headers of include/ashlar/${room}. "
      "Add the room to ashlar_core_rooms or to ashlar_full_rooms.")
  endif()
endforeach()

# ashlar_headers(<out> <glob>...): lists the headers below include/ashlar that match a pattern.
function(ashlar_headers out)
  list(TRANSFORM ARGN PREPEND "${ashlar_include_dir}/ashlar/")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${ARGN})
  set(${out} "${headers}" PARENT_SCOPE)
endfunction()

# ashlar_add_library(<name> <header>...): adds the INTERFACE target ashlar_<name> with the alias
# ashlar::<name>.
function(ashlar_add_library name)
  add_library(ashlar_${name} INTERFACE)
  add_library(ashlar::${name} ALIAS ashlar_${name})
  set_target_properties(ashlar_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(ashlar_${name} INTERFACE cxx_std_20)
  target_sources(ashlar_${name} INTERFACE
    FILE_SET HEADERS BASE_DIRS "${ashlar_include_dir}" FILES ${ARGN})
  set_property(GLOBAL APPEND PROPERTY ASHLAR_LIBRARIES ashlar_${name})
endfunction()

list(TRANSFORM ashlar_core_rooms APPEND "/*.hpp" OUTPUT_VARIABLE ashlar_core_globs)
ashlar_headers(ashlar_core_headers ${ashlar_core_globs})
list(APPEND ashlar_core_headers
  "${ashlar_include_dir}/ashlar/config.hpp" "${ashlar_include_dir}/ashlar/search.hpp")
ashlar_add_library(core ${ashlar_core_headers})

list(APPEND CMAKE_MODULE_PATH "${PROJECT_SOURCE_DIR}/cmake")
include("${CMAKE_CURRENT_LIST_DIR}/AshlarMpi.cmake")
find_package(CBLAS QUIET)
if(MPI_CXX_FOUND AND CBLAS_FOUND)
  list(TRANSFORM ashlar_full_rooms APPEND "/*.hpp" OUTPUT_VARIABLE ashlar_full_globs)
  ashlar_headers(ashlar_full_headers ${ashlar_full_globs})
  list(FILTER ashlar_full_headers EXCLUDE REGEX "/ashlar/(io/json|[a-z]+/(cuda|nccl))/")
  foreach(header ashlar nn tensor train)
    list(APPEND ashlar_full_headers "${ashlar_include_dir}/ashlar/${header}.hpp")
  endforeach()
  ashlar_add_library(ashlar ${ashlar_full_headers})
  target_link_libraries(ashlar_ashlar INTERFACE ashlar_core MPI::MPI_CXX CBLAS::CBLAS)
  # MPI's C++ bindings were removed from the standard in 2012. Including them only costs compile
  # time and causes link errors.
  target_compile_definitions(ashlar_ashlar INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
  include("${CMAKE_CURRENT_LIST_DIR}/AshlarCompiled.cmake")
  ashlar_add_compiled("${ashlar_include_dir}/ashlar/compiled")
  message(STATUS "ashlar: MPI ${MPI_CXX_VERSION} ${ASHLAR_MPI_FAMILY}, BLAS ${CBLAS_LIBRARIES}")
else()
  set(ashlar_missing "")
  if(NOT MPI_CXX_FOUND)
    list(APPEND ashlar_missing "MPI")
  endif()
  if(NOT CBLAS_FOUND)
    list(APPEND ashlar_missing "a BLAS with cblas.h")
  endif()
  list(JOIN ashlar_missing " and " ashlar_missing)
  message(STATUS "ashlar: ${ashlar_missing} not found: only the planner is built (ashlar::core)")
endif()

find_package(nlohmann_json 3.9 QUIET)
if(nlohmann_json_FOUND)
  ashlar_headers(ashlar_json_headers "io/json/*.hpp")
  ashlar_add_library(json ${ashlar_json_headers})
  target_link_libraries(ashlar_json INTERFACE ashlar_core nlohmann_json::nlohmann_json)
  if(TARGET ashlar_ashlar)
    ashlar_headers(ashlar_checkpoint_headers "checkpoint/*.hpp")
    ashlar_add_library(checkpoint ${ashlar_checkpoint_headers})
    find_package(Threads REQUIRED)
    target_link_libraries(ashlar_checkpoint INTERFACE ashlar_ashlar ashlar_json Threads::Threads)
  endif()
else()
  message(STATUS "ashlar: nlohmann_json not found: ashlar::json, for plan files and checkpoints, is not built")
endif()

# With AUTO, ashlar::cuda is defined if its packages are found. This does not enable CMake's
# language CUDA and does not change the targets above.
set(ASHLAR_ENABLE_CUDA AUTO CACHE STRING "Define ashlar::cuda: AUTO, ON or OFF")
set_property(CACHE ASHLAR_ENABLE_CUDA PROPERTY STRINGS AUTO ON OFF)
include("${CMAKE_CURRENT_LIST_DIR}/AshlarCuda.cmake")
if(ASHLAR_ENABLE_CUDA)
  set(ASHLAR_CUDA_MISSING "MPI or a BLAS with cblas.h")
  set(ASHLAR_CUDA_PACKAGES_FOUND FALSE)
  if(TARGET ashlar_ashlar)
    include("${CMAKE_CURRENT_LIST_DIR}/AshlarCudaPackages.cmake")
  endif()
  if(ASHLAR_CUDA_PACKAGES_FOUND)
    ashlar_headers(ashlar_cuda_headers "*.hpp")
    list(FILTER ashlar_cuda_headers INCLUDE REGEX "/ashlar/[a-z]+/(cuda|nccl)/")
    ashlar_headers(ashlar_cuda_kernel_files "*.cuh" "*.cu")
    ashlar_add_library(cuda ${ashlar_cuda_headers})
    target_link_libraries(ashlar_cuda INTERFACE
      ashlar_ashlar CUDA::cudart CUDA::cublasLt NCCL::NCCL)
    target_compile_definitions(ashlar_cuda INTERFACE ASHLAR_CUDA=1)
    # The kernels are a separate file set, because only nvcc may read them.
    target_sources(ashlar_cuda INTERFACE FILE_SET kernels TYPE HEADERS
      BASE_DIRS "${ashlar_include_dir}" FILES ${ashlar_cuda_kernel_files})
    message(STATUS "ashlar: CUDA ${CUDAToolkit_VERSION}, NCCL ${NCCL_VERSION}, ${ASHLAR_NVCC}")
  elseif(NOT ASHLAR_ENABLE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "ashlar: ASHLAR_ENABLE_CUDA=${ASHLAR_ENABLE_CUDA}, but "
      "${ASHLAR_CUDA_MISSING} was not found. Give CUDAToolkit_ROOT or NCCL_ROOT, or set it OFF.")
  endif()
endif()
