# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# ashlar_build_flags: what our own examples, benchmarks and tests are compiled with. Linked PRIVATE
# by them and never by the library, so that nothing of it reaches a user's targets.
#
# ashlar_program_flags: the same for examples and benchmarks, with ASHLAR_PROGRAM_OPTIONS last. They are
# half of the time of a whole build at -O3, so tests/run.sh, which only asks them for right results, gives
# -O1; who measures or trains gives nothing.

add_library(ashlar_build_flags INTERFACE)
target_compile_options(ashlar_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${ASHLAR_WERROR}>:-Werror>)

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

# ashlar_join_sources(<target>): its sources are compiled as one, if it has several: most of what a
# compiler does for one of them it does for all.
function(ashlar_join_sources target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # to it a source that is included is a header
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()
