# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=… -DHEADERS=FILE -DROOT=… -DFOLDER=… -DINCLUDES=a|b [-DDEFINITIONS=a|b] -P
# run_headers.cmake
#
# Compiles each header that FILE lists, to show that it includes everything it uses. Compiling each
# header by itself would spend most of the time on the same included headers. So headers are compiled
# in chains: one source includes header after header, each of which includes the one before it,
# directly or indirectly. No header is then preceded by one that it does not include. Some headers,
# the list `bases`, are precompiled for the same purpose, and begin the chains of those that include
# them.

cmake_minimum_required(VERSION 3.25)

# A chain begins with the first of these bases that its headers include. So the bases are ordered by
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

# base_of(<out> <header>): returns the header's base, or nothing.
function(base_of out header)
  all_includes(included "${header}")
  foreach(base IN LISTS bases)
    if(base IN_LIST included)
      set(${out} "${base}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()

# options_for(<out> <base>): returns the options that include the base first. Precompiles the base
# if that has not been done.
function(options_for out base)
  set(${out} "" PARENT_SCOPE)
  if(base)
    set(prefix "${FOLDER}/${base}")
    if(NOT EXISTS "${prefix}.gch")
      file(WRITE "${prefix}" "#include <ashlar/${base}>\n")
      execute_process(COMMAND ${command} ${precompile} -x c++-header "${prefix}" -o "${prefix}.gch"
        COMMAND_ERROR_IS_FATAL ANY)
    endif()
    set(${out} -include "${prefix}" PARENT_SCOPE)
  endif()
endfunction()

file(REMOVE_RECURSE "${FOLDER}") # The folder may be left from an earlier state of the headers.
foreach(base IN LISTS bases)
  if(NOT EXISTS "${ROOT}/ashlar/${base}")
    message(FATAL_ERROR "there is no ashlar/${base} to precompile: correct the list `bases`")
  endif()
endforeach()

# The headers are sorted by how many headers they include, so that a header comes after those that
# it includes.
file(STRINGS "${HEADERS}" headers)
set(sorted "")
foreach(header IN LISTS headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${ROOT}/ashlar" OUTPUT_VARIABLE name)
  all_includes(included "${name}")
  list(LENGTH included count)
  list(APPEND sorted "${count} ${name}")
endforeach()
list(SORT sorted COMPARE NATURAL)

# Each header extends the chain with the latest end that it includes, or begins a chain. `ends` and
# `chains` have one entry for each chain.
set(ends "")
foreach(entry IN LISTS sorted)
  string(REGEX REPLACE "^[0-9]+ " "" name "${entry}")
  all_includes(included "${name}")
  base_of(base "${name}")
  set(extended "")
  foreach(end IN LISTS ends)
    if(end IN_LIST included AND base STREQUAL "${base_${end}}")
      set(extended "${end}")
    endif()
  endforeach()
  set(base_${name} "${base}")
  set(chain_${name} ${chain_${extended}} "${name}")
  list(REMOVE_ITEM ends "${extended}")
  list(APPEND ends "${name}")
endforeach()

set(failed "")
foreach(end IN LISTS ends)
  string(MAKE_C_IDENTIFIER "${end}" source)
  list(TRANSFORM chain_${end} REPLACE "(.+)" "#include <ashlar/\\1>\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" lines)
  file(WRITE "${FOLDER}/${source}.cpp" "${lines}")
  options_for(options "${base_${end}}")
  execute_process(COMMAND ${command} ${options} -fsyntax-only "${FOLDER}/${source}.cpp"
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(APPEND failed "${chain_${end}}")
  endif()
endforeach()
list(LENGTH headers count)
list(LENGTH ends sources)
if(count EQUAL 0)
  message(FATAL_ERROR "no headers")
elseif(failed)
  message(FATAL_ERROR "do not compile alone, or one before them does not: ${failed}")
endif()
message(NOTICE "${count} headers compile alone, in ${sources} sources")
