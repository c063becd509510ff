# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Defines targets with the compiler flags of our own examples, benchmarks and tests, which link them
# PRIVATE. The library itself does not link them, so that no flag reaches a user's targets.
#
#   ashlar_build_flags           warnings and -march=native
#   ashlar_program_flags         ashlar_build_flags, followed by ASHLAR_PROGRAM_OPTIONS; for
#                                examples and benchmarks
#   ashlar_unrun_program_flags   ashlar_program_flags, followed by ASHLAR_UNRUN_PROGRAM_OPTIONS; for
#                                the examples and benchmarks that no test runs
#
# At -O3 the examples and benchmarks take half of the time of a whole build. tests/run.sh only
# checks their results, so it sets ASHLAR_PROGRAM_OPTIONS to -Og. Of the programs that no test runs,
# it only checks that they compile, so it sets ASHLAR_UNRUN_PROGRAM_OPTIONS to -O0. For measuring
# and training, leave both empty.

add_library(ashlar_build_flags INTERFACE)
target_compile_options(ashlar_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${ASHLAR_WERROR}>:-Werror>)
# With this option GCC's garbage collector runs less often. This saves 5 to 10 % of the compile time
# and needs up to 0.5 GB more memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ashlar_build_flags INTERFACE --param=ggc-min-heapsize=1048576)
endif()

if(ASHLAR_NATIVE)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-march=native ASHLAR_HAS_MARCH_NATIVE)
  if(ASHLAR_HAS_MARCH_NATIVE)
    target_compile_options(ashlar_build_flags INTERFACE -march=native)
  endif()
endif()

set(ASHLAR_PROGRAM_OPTIONS "" CACHE STRING "Last compiler options of examples and benchmarks")
add_library(ashlar_program_flags INTERFACE)
target_link_libraries(ashlar_program_flags INTERFACE ashlar_build_flags)
target_compile_options(ashlar_program_flags INTERFACE ${ASHLAR_PROGRAM_OPTIONS})

set(ASHLAR_UNRUN_PROGRAM_OPTIONS "" CACHE STRING
  "Last compiler options of the examples and benchmarks that no test runs")
add_library(ashlar_unrun_program_flags INTERFACE)
target_link_libraries(ashlar_unrun_program_flags INTERFACE ashlar_build_flags)
target_compile_options(ashlar_unrun_program_flags INTERFACE
  ${ASHLAR_PROGRAM_OPTIONS} ${ASHLAR_UNRUN_PROGRAM_OPTIONS})

option(ASHLAR_BUILD_UNRUN_PROGRAMS "Build also the examples and benchmarks that no test runs" ON)

# ashlar_link_program_flags(<target> <name> <run by tests>...): links ashlar_program_flags or
# ashlar_unrun_program_flags to <target>, which is the example or benchmark <name>. The other
# arguments name the programs that tests run.
function(ashlar_link_program_flags target name)
  if(name IN_LIST ARGN)
    target_link_libraries(${target} PRIVATE ashlar_program_flags)
    return()
  endif()
  target_link_libraries(${target} PRIVATE ashlar_unrun_program_flags)
  if(NOT ASHLAR_BUILD_UNRUN_PROGRAMS)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# ashlar_join_sources(<target>): compiles up to six sources of the target together as one source.
# This saves time, because the sources include the same headers, which take most of the compile
# time.
function(ashlar_join_sources target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    # GCC treats an included source as a header, and would warn about types in unnamed namespaces.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()
