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
  set(flags -I -D)
  set(lists INCLUDES DEFINITIONS)
  foreach(flag list IN ZIP_LISTS flags lists)
    string(REPLACE "|" ";" entries "${${list}}")
    foreach(entry IN LISTS entries)
      if(entry)
        list(APPEND command "${flag}${entry}")
      endif()
    endforeach()
  endforeach()
  set(${out} "${command}" PARENT_SCOPE)
endfunction()
