# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=… -DHEADERS=FILE -DROOT=… -DFOLDER=… -DINCLUDES=a|b [-DDEFINITIONS=a|b] -P
# run_headers.cmake
#
# Compiles each header that FILE lists by itself, to show that it includes everything it uses.
# Compiling the same included headers again and again would take most of the time. Some headers, the
# list `bases`, are therefore precompiled. A header that includes a base, directly or indirectly, is
# compiled after the precompiled base.

cmake_minimum_required(VERSION 3.25)

# A header is compiled with the first of these bases that it includes. So the bases are ordered by
# compile time, the most expensive one first.
set(bases nn/layer.hpp comm/mesh.hpp search/optimal.hpp search/chain_solver.hpp search/cost.hpp
  comm/strided_block.hpp step/pass.hpp plan/path_search.hpp step/plan.hpp)

include("${CMAKE_CURRENT_LIST_DIR}/compile_command.cmake")
compile_command(command)
set(precompile "")
if(COMPILER MATCHES "clang")
  list(APPEND command -Wno-pragma-once-outside-header)
  set(precompile -fpch-instantiate-templates) # once here instead of after each header
endif()

# all_includes(<out> <header>): lists our headers that the header includes, directly or indirectly.
function(all_includes out header)
  get_property(all GLOBAL PROPERTY "included by ${header}")
  if(NOT all)
    set(all "${header}")
    file(STRINGS "${ROOT}/ashlar/${header}" lines REGEX "^# *include <ashlar/[^>]+>")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*<ashlar/([^>]+)>.*" "\\1" other "${line}")
      all_includes(deeper "${other}")
      list(APPEND all "${other}" ${deeper})
    endforeach()
    list(REMOVE_DUPLICATES all)
    # The list is cached, since several headers may include this one.
    set_property(GLOBAL PROPERTY "included by ${header}" "${all}")
  endif()
  list(POP_FRONT all)
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# options_for(<out> <header>): returns the options that include the header's base first. Precompiles
# the base if that has not been done.
function(options_for out header)
  set(${out} "" PARENT_SCOPE)
  all_includes(included "${header}")
  foreach(base IN LISTS bases)
    if(base IN_LIST included)
      set(prefix "${FOLDER}/${base}")
      if(NOT EXISTS "${prefix}.gch")
        file(WRITE "${prefix}" "#include <ashlar/${base}>\n")
        execute_process(COMMAND ${command} ${precompile} -x c++-header "${prefix}" -o "${prefix}.gch"
          COMMAND_ERROR_IS_FATAL ANY)
      endif()
      set(${out} -include "${prefix}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

file(REMOVE_RECURSE "${FOLDER}") # The folder may be left from an earlier state of the headers.
foreach(base IN LISTS bases)
  if(NOT EXISTS "${ROOT}/ashlar/${base}")
    message(FATAL_ERROR "there is no ashlar/${base} to precompile: correct the list `bases`")
  endif()
endforeach()
set(failed "")
file(STRINGS "${HEADERS}" headers)
foreach(header IN LISTS headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${ROOT}/ashlar" OUTPUT_VARIABLE name)
  options_for(options "${name}")
  execute_process(COMMAND ${command} ${options} -fsyntax-only -x c++ "${header}" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(APPEND failed "${name}")
  endif()
endforeach()
list(LENGTH headers count)
if(count EQUAL 0)
  message(FATAL_ERROR "no headers")
elseif(failed)
  message(FATAL_ERROR "do not compile alone: ${failed}")
endif()
message(NOTICE "${count} headers compile alone")
