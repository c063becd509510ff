# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# ashlar_build_flags: what our own examples, benchmarks and tests are compiled with. Linked PRIVATE
# by them and never by the library, so that nothing of it reaches a user's targets.

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
