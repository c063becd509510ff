# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=… -DPREFIX=… [-DSOURCE=… | -DCONTROLS=a|b] [-DINCLUDES=a|b] [-DDEFINITIONS=a|b]
#   -P run_compile_fail.cmake
#
# Tests that a source does not compile, for the reason that the source states. The first call,
# without SOURCE and CONTROLS, precompiles the header PREFIX. Each later call is a test, which
# includes the precompiled header and has one of these options:
#
#   CONTROLS   These files must compile with -DASHLAR_CONTROL, which shows that only the forbidden
#              lines are wrong. They are compiled together as one source, each in its own namespace.
#   SOURCE     This file must not compile, and the compiler's output must contain the text of each
#              of its lines `// expect: TEXT`.
#
# A TEXT is searched for literally first, and then as a regular expression of CMake.

cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/compile_command.cmake")
compile_command(command)
list(APPEND command -fdiagnostics-color=never)

set(ENV{LC_ALL} C) # plain quotes and English messages

if(NOT SOURCE AND NOT CONTROLS) # GCC and Clang both look for PREFIX.gch.
  if(COMPILER MATCHES "clang")
    list(APPEND command -fpch-instantiate-templates) # once here instead of in each test
  endif()
  execute_process(COMMAND ${command} -x c++-header "${PREFIX}" -o "${PREFIX}.gch"
    COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

list(APPEND command -fsyntax-only -include "${PREFIX}")

if(CONTROLS)
  string(REPLACE "|" ";" CONTROLS "${CONTROLS}")
  set(includes "")
  set(text "")
  foreach(source IN LISTS CONTROLS)
    file(STRINGS "${source}" lines REGEX "^#include ")
    list(APPEND includes ${lines})
    cmake_path(GET source STEM name)
    string(APPEND text "namespace ${name} {\n#include \"${source}\"\n}\n")
  endforeach()
  # All headers are included first. Inside the namespaces their include guards then make them empty.
  list(REMOVE_DUPLICATES includes)
  list(JOIN includes "\n" includes)
  cmake_path(REPLACE_FILENAME PREFIX controls.cpp OUTPUT_VARIABLE all)
  file(WRITE "${all}" "${includes}\n${text}")
  execute_process(COMMAND ${command} -DASHLAR_CONTROL "${all}" COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

message(NOTICE "${COMPILER} ${SOURCE}")
# The file is read as one string, because brackets and semicolons would be split into CMake lists.
file(READ "${SOURCE}" text)
if(NOT text MATCHES "ASHLAR_CONTROL")
  message(FATAL_ERROR "no `#ifdef ASHLAR_CONTROL` branch with the right spelling")
endif()
set(count 0)
while(text MATCHES "// expect: ([^\n]*)\n(.*)")
  set(expect_${count} "${CMAKE_MATCH_1}")
  set(text "${CMAKE_MATCH_2}")
  math(EXPR count "${count} + 1")
endwhile()
if(count EQUAL 0)
  message(FATAL_ERROR "no line `// expect: TEXT`: say which sentence this file is for")
endif()

# Both streams go to one variable. The output is printed before the checks, and not by
# message(FATAL_ERROR), which would wrap its lines.
execute_process(COMMAND ${command} "${SOURCE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message(NOTICE "${output}")
if(status EQUAL 0)
  message(FATAL_ERROR "compiles, but it must not")
endif()
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(FIND "${output}" "${expect_${i}}" at)
  if(at EQUAL -1)
    message(NOTICE "not in the output word for word, so tried as a pattern:\n${expect_${i}}")
    if(NOT output MATCHES "${expect_${i}}")
      message(FATAL_ERROR "does not compile, but not for the expected reason")
    endif()
  endif()
endforeach()
message(NOTICE "fails as expected; texts found: ${count}")
