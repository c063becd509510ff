# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# The programs of a project that uses the library. CONSUMER_PROGRAMS lists the programs to build.

if(core IN_LIST CONSUMER_PROGRAMS)
  add_executable(core "${CMAKE_CURRENT_LIST_DIR}/core.cpp")
  target_link_libraries(core PRIVATE ashlar::core)
endif()

# `linked` calls MPI and BLAS. `full` also includes all headers, so it takes ten times as long to
# compile.
foreach(program linked full)
  if(program IN_LIST CONSUMER_PROGRAMS)
    add_executable(${program} "${CMAKE_CURRENT_LIST_DIR}/linked.cpp")
    target_link_libraries(${program} PRIVATE ashlar::ashlar)
  endif()
endforeach()
if(TARGET full)
  target_compile_definitions(full PRIVATE ALL_HEADERS)
endif()

if(compiled IN_LIST CONSUMER_PROGRAMS)
  add_executable(compiled "${CMAKE_CURRENT_LIST_DIR}/compiled.cpp")
  target_link_libraries(compiled PRIVATE ashlar::precompiled)  # it links ashlar::compiled
endif()

if(cuda IN_LIST CONSUMER_PROGRAMS)
  add_executable(cuda "${CMAKE_CURRENT_LIST_DIR}/cuda.cpp")
  ashlar_enable_cuda(cuda)
  # The program also links a static library that itself links the kernels, because users may build
  # larger programs in this way.
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/cuda_part.cpp" CONTENT
    "#include <ashlar/device/cuda/error.hpp>\nvoid part() { ashlar::cuda::check_last(\"part\"); }\n")
  add_library(cuda_part STATIC "${CMAKE_CURRENT_BINARY_DIR}/cuda_part.cpp")
  ashlar_enable_cuda(cuda_part)
  target_link_libraries(cuda PRIVATE cuda_part)
endif()

# Compile options of the library's own build must not reach its users.
foreach(library ashlar::core ashlar::ashlar ashlar::json ashlar::cuda)
  if(TARGET ${library})
    get_target_property(options ${library} INTERFACE_COMPILE_OPTIONS)
    if(options)
      message(FATAL_ERROR "${library} passes compile options on: ${options}")
    endif()
  endif()
endforeach()
