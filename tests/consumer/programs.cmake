# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# The same two programs for both ways of getting the library, so that both are held to one standard.

# Every header of the planner in one file: none of them was forgotten by the install.
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

if(CONSUMER_FULL)
  add_executable(full "${CMAKE_CURRENT_LIST_DIR}/full.cpp")
  target_link_libraries(full PRIVATE ashlar::ashlar)
endif()

# What is private to the library's own build must not reach its users.
foreach(library ashlar::core ashlar::ashlar ashlar::json)
  if(TARGET ${library})
    get_target_property(options ${library} INTERFACE_COMPILE_OPTIONS)
    if(options)
      message(FATAL_ERROR "${library} passes compile options on: ${options}")
    endif()
  endif()
endforeach()
