# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# ashlar_add_compiled(<folder>): defines ashlar::compiled, a static library built from the sources
# in that folder. The library offers the same functions as ashlar::ashlar, but large functions are
# compiled once, in the library (include/ashlar/compiled/README.md). The library is built only if a
# program links it, with the flags that the calling project gives all its targets.
#
# It also defines ashlar::precompiled, which is ashlar::compiled plus <ashlar/ashlar.hpp> as a
# precompiled header of each target that links it. Targets with the same flags can share one
# precompiled header: target_precompile_headers(b REUSE_FROM a).

function(ashlar_add_compiled folder)
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  add_library(ashlar_compiled STATIC EXCLUDE_FROM_ALL ${sources})
  add_library(ashlar::compiled ALIAS ashlar_compiled)
  target_link_libraries(ashlar_compiled PUBLIC ashlar::ashlar)
  target_compile_definitions(ashlar_compiled PUBLIC ASHLAR_COMPILED=1)
  add_library(ashlar_precompiled INTERFACE)
  add_library(ashlar::precompiled ALIAS ashlar_precompiled)
  target_link_libraries(ashlar_precompiled INTERFACE ashlar::compiled)
  target_precompile_headers(ashlar_precompiled INTERFACE <ashlar/ashlar.hpp>)
endfunction()
