# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# ashlar_enable_cuda(<target>): links the target with ashlar::cuda and with the CUDA kernels, which
# are the only source of ashlar that nvcc compiles. The target's own sources stay plain C++. This
# file is installed with the package.
#
#   ASHLAR_CUDA_ARCHITECTURES   a list in the form of CMAKE_CUDA_ARCHITECTURES: 90-real for machine
#                               code, 90-virtual for PTX, 90 for both, native for the devices of
#                               this machine.
#                               Empty, which is the default: CMAKE_CUDA_ARCHITECTURES, or 80-real;90
#                               if that is not set
#   ASHLAR_CUDA_FLAGS           further options of nvcc
#
# The first call in a build tree adds the rule that compiles the kernels into an archive, which all
# enabled targets link. So the function may be called for several targets that become parts of one
# program, including static libraries.

# ashlar_cuda_architecture_flags(<out>): converts ASHLAR_CUDA_ARCHITECTURES to options of nvcc.
function(ashlar_cuda_architecture_flags out)
  set(architectures "80-real;90")
  if(ASHLAR_CUDA_ARCHITECTURES)
    set(architectures "${ASHLAR_CUDA_ARCHITECTURES}")
  elseif(CMAKE_CUDA_ARCHITECTURES)
    set(architectures "${CMAKE_CUDA_ARCHITECTURES}")
  endif()
  set(flags "")
  foreach(architecture IN LISTS architectures)
    if(architecture STREQUAL "native")
      list(APPEND flags -arch=native)
    elseif(architecture MATCHES "^([0-9]+[af]?)(-real|-virtual)?$")
      set(number "${CMAKE_MATCH_1}")
      set(codes "sm_${number}" "compute_${number}")
      if(CMAKE_MATCH_2 STREQUAL "-real")
        list(POP_BACK codes)
      elseif(CMAKE_MATCH_2 STREQUAL "-virtual")
        list(POP_FRONT codes)
      endif()
      foreach(code IN LISTS codes)
        list(APPEND flags -gencode "arch=compute_${number},code=${code}")
      endforeach()
    else()
      message(FATAL_ERROR "ashlar: ASHLAR_CUDA_ARCHITECTURES contains ${architecture}. "
        "Write numbers such as 90, 90-real or 90-virtual, or native.")
    endif()
  endforeach()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

# Defines the target ashlar_cuda_kernels, the archive of kernels, unless it exists already.
function(ashlar_cuda_add_kernels)
  if(TARGET ashlar_cuda_kernels)
    return()
  endif()
  set(ASHLAR_CUDA_ARCHITECTURES "" CACHE STRING
    "Devices that the CUDA kernels are compiled for; empty: the default")
  set(ASHLAR_CUDA_FLAGS "" CACHE STRING "Further options of nvcc")
  get_target_property(include_dir ashlar::core HEADER_DIRS)
  set(source "${include_dir}/ashlar/device/cuda/kernels.cu")
  set(folder "${CMAKE_BINARY_DIR}/ashlar_cuda")
  file(MAKE_DIRECTORY "${folder}")
  set(object "${folder}/kernels.o")
  set(archive "${folder}/libashlar_cuda_kernels.a")
  ashlar_cuda_architecture_flags(architectures)
  separate_arguments(flags NATIVE_COMMAND "${ASHLAR_CUDA_FLAGS}")
  set(host_compiler "${CMAKE_CUDA_HOST_COMPILER}")
  if(NOT host_compiler)
    set(host_compiler "${CMAKE_CXX_COMPILER}")
  endif()
  # --expt-relaxed-constexpr lets device code call constexpr functions of the host's headers.
  add_custom_command(OUTPUT "${archive}" DEPFILE "${object}.d" VERBATIM
    COMMAND "${ASHLAR_NVCC}" -std=c++20 -O3 -lineinfo --expt-relaxed-constexpr
      -Werror all-warnings -Xcompiler -fPIC -ccbin "${host_compiler}" ${architectures} ${flags}
      --threads 0 -I "${include_dir}" -MD -MF "${object}.d" -MT "${archive}"
      -c "${source}" -o "${object}"
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${archive}"
    COMMAND "${CMAKE_AR}" qcs "${archive}" "${object}"
    DEPENDS "${source}" COMMENT "Building the CUDA kernels of ashlar with nvcc")
  add_custom_target(ashlar_cuda_build_kernels DEPENDS "${archive}")
  add_library(ashlar_cuda_kernels STATIC IMPORTED GLOBAL)
  add_dependencies(ashlar_cuda_kernels ashlar_cuda_build_kernels)
  set_target_properties(ashlar_cuda_kernels PROPERTIES
    IMPORTED_LOCATION "${archive}" INTERFACE_LINK_LIBRARIES ashlar::cuda)
endfunction()

function(ashlar_enable_cuda target)
  if(NOT TARGET ashlar::cuda)
    message(FATAL_ERROR "ashlar_enable_cuda(${target}): ashlar::cuda is not defined"
      " (${ASHLAR_CUDA_MISSING} not found, or ASHLAR_ENABLE_CUDA=OFF)")
  endif()
  ashlar_cuda_add_kernels()
  target_link_libraries(${target} PRIVATE ashlar_cuda_kernels ashlar::cuda)
endfunction()
