# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# The programs of a project that uses the library. CONSUMER_PROGRAMS lists the programs to build.

if(core IN_LIST CONSUMER_PROGRAMS)
  # Includes every header of the planner in one file, to show that the installation contains all of
  # them.
  get_target_property(headers ashlar::core HEADER_SET)
  get_target_property(directory ashlar::core HEADER_DIRS)
  set(includes "")
  foreach(header IN LISTS headers)
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${directory}")
    string(APPEND includes "#include <${header}>\n")
  endforeach()
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/all_of_core.cpp" CONTENT "${includes}")

  add_executable(core "${CMAKE_CURRENT_LIST_DIR}/core.cpp"
    "${CMAKE_CURRENT_BINARY_DIR}/all_of_core.cpp")
  target_link_libraries(core PRIVATE ashlar::core)
endif()

if(full IN_LIST CONSUMER_PROGRAMS)
  add_executable(full "${CMAKE_CURRENT_LIST_DIR}/full.cpp")
  target_link_libraries(full PRIVATE ashlar::ashlar)
endif()

if(compiled IN_LIST CONSUMER_PROGRAMS)
  add_executable(compiled "${CMAKE_CURRENT_LIST_DIR}/compiled.cpp")
  target_link_libraries(compiled PRIVATE ashlar::precompiled)  # and so ashlar::compiled
endif()

if(cuda IN_LIST CONSUMER_PROGRAMS)
  add_executable(cuda "${CMAKE_CURRENT_LIST_DIR}/cuda.cpp")
  ashlar_enable_cuda(cuda)
  # The program also links a static library that itself links the kernels, because larger programs
  # may be built in this way.
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
