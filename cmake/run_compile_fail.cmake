# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=… -DPREFIX=… [-DSOURCE=… | -DCONTROLS=a|b] [-DINCLUDES=a|b] [-DDEFINITIONS=a|b]
#   -P run_compile_fail.cmake
#
# With neither: the header PREFIX is precompiled, for the tests with one, which compile after it:
#   CONTROLS   with -DASHLAR_CONTROL, must compile: shows that only what we forbid is wrong with these
#              files. All of them as one source, each in a namespace of its own
#   SOURCE     must fail, and its output must hold every `// expect: TEXT` of the file
# A TEXT matches literally or, if it does not occur literally, as a regular expression of CMake.

cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/compile_command.cmake")
compile_command(command)
list(APPEND command -fdiagnostics-color=never)

set(ENV{LC_ALL} C) # plain quotes, English

if(NOT SOURCE AND NOT CONTROLS) # both compilers look for PREFIX.gch
  if(COMPILER MATCHES "clang")
    list(APPEND command -fpch-instantiate-templates) # once, not again in each test
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
  list(REMOVE_DUPLICATES includes) # first, since within a namespace they are there already
  list(JOIN includes "\n" includes)
  cmake_path(REPLACE_FILENAME PREFIX controls.cpp OUTPUT_VARIABLE all)
  file(WRITE "${all}" "${includes}\n${text}")
  execute_process(COMMAND ${command} -DASHLAR_CONTROL "${all}" COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

message(NOTICE "${COMPILER} ${SOURCE}")
# Brackets and semicolons would confuse CMake's lists, so the file is read as one string.
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

# Printed as it is, and before any judgement: message(FATAL_ERROR) would wrap the lines.
execute_process(COMMAND ${command} "${SOURCE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output) # both streams
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
