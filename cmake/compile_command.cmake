# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# compile_command(<out>): the compiler and the options that the scripts of this folder were given,
#
#   -DCOMPILER=… -DINCLUDES=a|b -DDEFINITIONS=a|b     either list may be empty or left out
#
# CMake's own lists cannot be given on a command line without losing their semicolons.

function(compile_command out)
  set(command "${COMPILER}" -std=c++20)
  string(REPLACE "|" ";" directories "${INCLUDES}")
  foreach(directory IN LISTS directories)
    if(directory)
      list(APPEND command "-I${directory}")
    endif()
  endforeach()
  string(REPLACE "|" ";" definitions "${DEFINITIONS}")
  foreach(definition IN LISTS definitions)
    if(definition)
      list(APPEND command "-D${definition}")
    endif()
  endforeach()
  set(${out} "${command}" PARENT_SCOPE)
endfunction()
