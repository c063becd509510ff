# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Defines the tests on clusters that SimGrid SMPI simulates (tests/smpi/README.md). They run the
# unmodified library on up to 256 ranks. A file tests/smpi/*.cpp becomes a program if at least one
# line `// run:` or `// thorough:` is among its first 45 lines. These lines mean:
#
#   // run: MESH MACHINE [ARGUMENT]...       adds the test smpi/NAME/MESH/MACHINE
#   // thorough: MESH MACHINE [ARGUMENT]...  the same, but the test runs only with --thorough
#   // expect: deadlock                      Each test of the program passes only if the simulator
#                                            reports a deadlock.
#
# If smpicxx, smpirun or a BLAS is missing, the only test is `smpi`, which is skipped.

option(ASHLAR_SMPI_TESTS "Build the tests on simulated clusters, where SimGrid SMPI is found" ON)

# ashlar_smpi_compile(<output> <source> <option>...): builds a file with a custom command, because
# smpicxx is not a compiler that CMake can check. Each rank loads its own copy of the program, so
# the program is stripped to save memory. -fno-gnu-unique gives each rank its own static variables
# of inline functions and templates.
function(ashlar_smpi_compile output source)
  set(flags -std=c++20 -O1 -s -fno-gnu-unique -DOMPI_SKIP_MPICXX=1 -DASHLAR_COMPILED=1
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(ASHLAR_WERROR)
    list(APPEND flags -Werror)
  endif()
  # This is the same as in AshlarBuildFlags.cmake. smpicxx calls c++, which is assumed to be GCC if
  # the build uses GCC.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags --param=ggc-min-heapsize=1048576)
  endif()
  set(objects ${ARGN})
  list(FILTER objects INCLUDE REGEX "\\.o$")
  add_custom_command(OUTPUT "${output}" DEPFILE "${output}.d" VERBATIM
    COMMAND "${ASHLAR_SMPICXX}" ${flags} "-I${ashlar_include_dir}" "-I${ASHLAR_TEST_DIR}"
      "-I$<JOIN:$<TARGET_PROPERTY:CBLAS::CBLAS,INTERFACE_INCLUDE_DIRECTORIES>,;-I>"
      -MD -MF "${output}.d" -MT "${output}" "${source}" -o "${output}" ${ARGN}
    COMMAND_EXPAND_LISTS
    DEPENDS "${source}" ${objects}
    COMMENT "Building ${output} with smpicxx")
endfunction()

# ashlar_smpi_library(<out>): adds rules that compile the sources of ashlar::compiled with smpicxx,
# and returns the object files.
function(ashlar_smpi_library out)
  file(GLOB sources CONFIGURE_DEPENDS "${ashlar_include_dir}/ashlar/compiled/*.cpp")
  set(objects "")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/smpi_compiled_${name}.o")
    ashlar_smpi_compile("${object}" "${source}" -c)
    list(APPEND objects "${object}")
  endforeach()
  add_custom_target(build_smpi_library DEPENDS ${objects})
  set(${out} "${objects}" PARENT_SCOPE)
endfunction()

function(ashlar_smpi_program name source)
  set(program "${CMAKE_CURRENT_BINARY_DIR}/smpi_${name}")
  # Only the library is optimized (-O1). -Og comes after -O1, and compilers obey the last -O option.
  ashlar_smpi_compile("${program}" "${source}" -Og ${ARGN} ${CBLAS_LIBRARIES})
  add_custom_target(build_smpi_${name} DEPENDS "${program}")
  # The programs depend on the target of the object files. Otherwise the target of each program
  # would build these files, possibly at the same time.
  add_dependencies(build_smpi_${name} build_smpi_library)
  add_dependencies(smpi_programs build_smpi_${name})
endfunction()

function(ashlar_add_smpi_tests)
  # The target exists even if it builds nothing, because the preset smpi builds it.
  add_custom_target(smpi_programs ALL)
  find_program(ASHLAR_SMPICXX smpicxx)
  find_program(ASHLAR_SMPIRUN smpirun)
  if(NOT ASHLAR_SMPICXX OR NOT ASHLAR_SMPIRUN OR NOT TARGET CBLAS::CBLAS)
    add_test(NAME smpi COMMAND "${CMAKE_COMMAND}" -E echo
      "SimGrid SMPI (smpicxx, smpirun) or a BLAS with cblas.h not found: no simulated clusters")
    set_tests_properties(smpi PROPERTIES LABELS smpi SKIP_REGULAR_EXPRESSION "not found")
    return()
  endif()

  add_executable(smpi_platform "${ASHLAR_TEST_DIR}/smpi/platform.cpp")
  target_include_directories(smpi_platform PRIVATE "${ASHLAR_TEST_DIR}")
  target_link_libraries(smpi_platform PRIVATE ashlar::core ashlar_test_flags)
  add_dependencies(smpi_programs smpi_platform)

  # A run of thousands of redistributions takes a minute on an idle core. The time limit of
  # simulate.sh is shorter than the limit of CTest, so that the script can report the reason before
  # CTest kills the script.
  math(EXPR seconds "2 * ${ASHLAR_TEST_TIMEOUT}")
  math(EXPR limit "3 * ${ASHLAR_TEST_TIMEOUT}")
  ashlar_smpi_library(objects)
  ashlar_glob(sources smpi *.cpp)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" head LIMIT_COUNT 45)
    set(runs ${head})
    list(FILTER runs INCLUDE REGEX "^// (run|thorough): [^ ]+ [^ ]+")
    if(NOT runs)
      continue()
    endif()
    set(options --smpirun "${ASHLAR_SMPIRUN}" --timeout ${seconds})
    list(FILTER head INCLUDE REGEX "^// expect: deadlock$")
    if(head)
      list(APPEND options --expect deadlock)
    endif()
    cmake_path(GET source STEM name)
    ashlar_smpi_program(${name} "${source}" ${objects})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    foreach(run IN LISTS runs)
      set(labels smpi)
      if(run MATCHES "^// thorough:")
        list(APPEND labels thorough)
      endif()
      string(REGEX REPLACE "^// [a-z]+: +" "" run "${run}")
      separate_arguments(arguments UNIX_COMMAND "${run}")
      list(POP_FRONT arguments mesh machine)
      set(test "smpi/${name}/${mesh}/${machine}")
      add_test(NAME "${test}" COMMAND bash "${ASHLAR_TEST_DIR}/smpi/simulate.sh" ${options}
        $<TARGET_FILE:smpi_platform> ${mesh} ${machine}
        "${CMAKE_CURRENT_BINARY_DIR}/smpi_${name}" ${arguments})
      ashlar_test_properties("${test}" ${labels})
      set_tests_properties("${test}" PROPERTIES TIMEOUT ${limit} COST 80)
    endforeach()
  endforeach()
endfunction()
