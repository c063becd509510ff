# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=… -DPREFIX=… [-DCASES=a|b | -DCONTROLS=a|b] [-DINCLUDES=a|b] [-DDEFINITIONS=a|b]
#   -P run_compile_fail.cmake
#
# Tests that each of several sources does not compile, for the reason that it states. The first
# call, without CASES and CONTROLS, precompiles the header PREFIX. Each later call is a test, which
# includes the precompiled header and has one of these options:
#
#   CONTROLS   These files must compile with -DASHLAR_CONTROL, which shows that only the forbidden
#              lines are wrong.
#   CASES      None of these files may compile. The compiler's output must have what their lines
#              `// expect: TEXT` and `// expect pattern: PATTERN` say (expected_texts.cmake). No text
#              of a file is part of a text of another file, so a text can be in the output only
#              because of the file that expects it. GCC's output must also name each file or its
#              namespace. Clang's need not, because Clang does not always print where a template
#              was used.
#
# The files of a test are compiled together as one source, each in its own namespace, because
# reading the precompiled header takes longer than compiling a file.

cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/compile_command.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/expected_texts.cmake")
compile_command(command)
# Without a limit on the backtrace, an error in a nested template names the file that uses it.
list(APPEND command -fdiagnostics-color=never -ftemplate-backtrace-limit=0)

set(ENV{LC_ALL} C) # plain quotes and English messages

if(NOT CASES AND NOT CONTROLS) # GCC and Clang both look for PREFIX.gch.
  if(COMPILER MATCHES "clang")
    # Instantiates the templates of the headers once here, and not in each test.
    list(APPEND command -fpch-instantiate-templates)
  endif()
  execute_process(COMMAND ${command} -x c++-header "${PREFIX}" -o "${PREFIX}.gch"
    COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

list(APPEND command -fsyntax-only -include "${PREFIX}")

# joined(<out> <source>...): writes one source that has all these files, each in its own namespace.
# All headers are included first, so inside the namespaces their include guards make them empty.
function(joined out)
  set(includes "")
  set(text "")
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" lines REGEX "^#include ")
    list(APPEND includes ${lines})
    cmake_path(GET source STEM name)
    string(APPEND text "namespace ${name} {\n#include \"${source}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES includes)
  list(JOIN includes "\n" includes)
  list(GET ARGN 0 first)
  cmake_path(GET first STEM name)
  if(CONTROLS)
    set(name controls)
  endif()
  cmake_path(REPLACE_FILENAME PREFIX "joined_${name}.cpp" OUTPUT_VARIABLE all)
  file(WRITE "${all}" "${includes}\n${text}")
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

if(CONTROLS)
  string(REPLACE "|" ";" CONTROLS "${CONTROLS}")
  joined(all ${CONTROLS})
  execute_process(COMMAND ${command} -DASHLAR_CONTROL "${all}" COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

string(REPLACE "|" ";" CASES "${CASES}")
joined(all ${CASES})
if(COMPILER MATCHES "clang")
  list(APPEND command -ferror-limit=0)
endif()
# Both streams go to one variable. The output is printed before the checks, and not by
# message(FATAL_ERROR), which would wrap its lines.
execute_process(COMMAND ${command} "${all}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message(NOTICE "${COMPILER} ${all}\n${output}")
if(status EQUAL 0)
  message(FATAL_ERROR "compiles, but it must not")
endif()

# without_longer_texts(<out> <output> <text> <lines>): removes from the output each text of <lines>
# that contains <text> and is longer. If a file expects `equal: ...` and `less_equal: ...`, the
# output must have `equal: ...` also outside `less_equal: ...`.
function(without_longer_texts out output text lines)
  while(lines MATCHES "^([^\n]*)\n(.*)")
    set(line "${CMAKE_MATCH_1}")
    set(lines "${CMAKE_MATCH_2}")
    string(FIND "${line}" "${text}" at)
    if(NOT at EQUAL -1 AND NOT line STREQUAL text)
      string(REPLACE "${line}" "" output "${output}")
    endif()
  endwhile()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

set(failed "")
foreach(source IN LISTS CASES)
  cmake_path(GET source FILENAME name)
  # The file is read as one string, because a CMake list of its lines would be divided wrongly at
  # brackets and semicolons.
  file(READ "${source}" text)
  if(NOT text MATCHES "ASHLAR_CONTROL")
    message(FATAL_ERROR "${name}: no `#ifdef ASHLAR_CONTROL` branch with the right spelling")
  endif()
  expected_lines(texts "${source}" "expect")
  expected_lines(patterns "${source}" "expect pattern")
  if(texts STREQUAL "" AND patterns STREQUAL "")
    message(FATAL_ERROR "${name}: no line `// expect: TEXT`: say which sentence this file is for")
  endif()
  cmake_path(GET source STEM space)
  string(FIND "${output}" "${source}:" at)
  string(FIND "${output}" "${space}::" in_space)
  if(at EQUAL -1 AND in_space EQUAL -1 AND NOT COMPILER MATCHES "clang")
    message(NOTICE "${name}: compiles, but it must not")
    list(APPEND failed "${name}")
  endif()
  set(rest "${texts}")
  while(rest MATCHES "^([^\n]*)\n(.*)")
    set(expected "${CMAKE_MATCH_1}")
    set(rest "${CMAKE_MATCH_2}")
    without_longer_texts(found "${output}" "${expected}" "${texts}")
    string(FIND "${found}" "${expected}" at)
    if(at EQUAL -1)
      message(NOTICE "${name}: not word for word in the output:\n${expected}")
      list(APPEND failed "${name}")
    endif()
  endwhile()
  set(rest "${patterns}")
  while(rest MATCHES "^([^\n]*)\n(.*)")
    set(expected "${CMAKE_MATCH_1}")
    set(rest "${CMAKE_MATCH_2}")
    if(NOT output MATCHES "${expected}")
      message(NOTICE "${name}: no part of the output matches this pattern:\n${expected}")
      list(APPEND failed "${name}")
    endif()
  endwhile()
endforeach()
if(failed)
  list(REMOVE_DUPLICATES failed)
  list(JOIN failed ", " failed)
  message(FATAL_ERROR "do not fail for the expected reason: ${failed}")
endif()
list(LENGTH CASES count)
message(NOTICE "${count} files fail as expected")
