# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# compile_command(<out>): returns the compile command for the scripts run_*.cmake of this folder.
# The compiler, the include folders and the macro definitions come from options of the cmake command
# that runs the script. INCLUDES and DEFINITIONS may be empty or missing:
#
#   -DCOMPILER=… -DINCLUDES=a|b -DDEFINITIONS=a|b
#
# The entries are separated by | because a CMake list would lose its semicolons on a command line.

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
