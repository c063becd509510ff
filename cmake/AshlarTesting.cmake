# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Registers the tests of each folder. tests/CMakeLists.txt calls one function for each kind. Adding
# a file adds a test:
#
#   include/ashlar/**/*.hpp       compiled by itself; label headers
#   tests/static/*.cpp            compiled and not run; label static
#   tests/unit/*_test.cpp         doctest, one process; label unit; also label threads if several
#                                 threads work in it (comm_*_test.cpp); label thorough if the test
#                                 runs all its cases (ashlar_thorough_runs)
#   tests/mpi/*_test.cpp          doctest, N ranks for several N; labels mpi, npN; label thorough if
#                                 the test runs all its cases (ashlar_thorough_runs)
#   tests/cuda/*_test.cpp, *.sh   on a GPU, one process or several ranks; label cuda; skipped
#                                 (exit 77) if there is no GPU
#   tests/cuda/fake/*_test.cpp    one process with fake versions of CUDA and NCCL on the host;
#                                 labels unit, threads
#   tests/compile_fail/*.cpp      must not compile, for the stated reason; label compile_fail
#   tests/scripts/*.sh            exit 0 passes, 77 skips; label script
#   tests/programs/*.cpp          programs that the scripts run; no tests by themselves
#
# CTest starts the tests with the highest COST first. Tests that count as two processors have a
# higher COST than tests that count as one, except tests/cuda/*_test.cpp, which have no COST. The
# presets permit three processors, so a test that counts as one can run beside each test that counts
# as two. Among the tests that count as equally many processors, long tests have the highest COST,
# so that no long test runs alone at the end.

include("${CMAKE_CURRENT_LIST_DIR}/expected_texts.cmake")

set(ASHLAR_TEST_TIMEOUT 180 CACHE STRING "Seconds after which CTest kills a test")
set(ASHLAR_TEST_DIR "${PROJECT_SOURCE_DIR}/tests")

# Tests run with the settings that cmake/mpi_environment.sh exports. Ranks are not bound to cores,
# because two tests that run at the same time would both be bound to the first cores. Failing ranks
# write no flight records, and the checked mode is off, which is on by default in debug builds.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/mpi_environment.sh" ASHLAR_TEST_ENVIRONMENT REGEX "^export ")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_LIST_DIR}/mpi_environment.sh")
list(TRANSFORM ASHLAR_TEST_ENVIRONMENT REPLACE "^export " "")
string(REPLACE " " ";" ASHLAR_TEST_ENVIRONMENT "${ASHLAR_TEST_ENVIRONMENT}")
list(APPEND ASHLAR_TEST_ENVIRONMENT ASHLAR_FLIGHT_RECORDS=off ASHLAR_CHECK=off)

# MPICH spins while it waits and never yields. So with more ranks than cores, each wait takes whole
# time slices, and the tests take hours. If MPICH uses UCX, a preloaded library makes it yield
# (tests/support/yield_when_idle.cpp). That does not work with a sanitizer, which must be preloaded
# first.
set(ASHLAR_TEST_MAX_RANKS "" CACHE STRING
  "Maximum number of ranks of a test; empty: 8, or cores + 1 if MPICH cannot be made to yield")
set(ashlar_most_ranks 8)
if(ASHLAR_MPI_FAMILY STREQUAL mpich)
  set(ashlar_asks_ucx "")
  if(CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    foreach(library IN LISTS MPI_CXX_LIBRARIES)
      if(library MATCHES "/lib(mpich|mpi)\\.so" AND NOT ashlar_asks_ucx)
        file(STRINGS "${library}" ashlar_asks_ucx REGEX "^ucp_worker_progress$" LIMIT_COUNT 1)
      endif()
    endforeach()
  endif()
  if(ashlar_asks_ucx)
    add_library(yield_when_idle MODULE "${ASHLAR_TEST_DIR}/support/yield_when_idle.cpp")
    target_link_libraries(yield_when_idle PRIVATE ashlar_test_flags ${CMAKE_DL_LIBS})
    set_target_properties(yield_when_idle PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    list(APPEND ASHLAR_TEST_ENVIRONMENT
      "LD_PRELOAD=${PROJECT_BINARY_DIR}/tests/libyield_when_idle.so")
  else()
    cmake_host_system_information(RESULT ashlar_most_ranks QUERY NUMBER_OF_LOGICAL_CORES)
    math(EXPR ashlar_most_ranks "${ashlar_most_ranks} + 1")
  endif()
endif()
if(ASHLAR_TEST_MAX_RANKS)
  set(ashlar_most_ranks ${ASHLAR_TEST_MAX_RANKS})
endif()
if(ashlar_most_ranks LESS 8)
  message(STATUS "ashlar: MPI tests with at most ${ashlar_most_ranks} ranks (ASHLAR_TEST_MAX_RANKS)")
endif()

# ashlar_glob(<out> <folder> <pattern>): returns a sorted list of the matching files of a folder of
# tests. The list is empty if the folder is empty or missing.
function(ashlar_glob out folder pattern)
  file(GLOB files CONFIGURE_DEPENDS "${ASHLAR_TEST_DIR}/${folder}/${pattern}")
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

# ashlar_test_properties(<test> <label>...): sets labels, timeout and environment of a test. With
# Open MPI, each test has a session folder of its own. By default all mpirun commands of a user
# share one session folder in /tmp. A command that ends may remove this folder just when another
# command begins, which then fails.
function(ashlar_test_properties test)
  set_tests_properties(${test} PROPERTIES
    LABELS "${ARGN}" TIMEOUT ${ASHLAR_TEST_TIMEOUT} ENVIRONMENT "${ASHLAR_TEST_ENVIRONMENT}")
  if(ASHLAR_MPI_FAMILY STREQUAL openmpi)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
      "OMPI_MCA_orte_tmpdir_base=${PROJECT_BINARY_DIR}/tests/sessions/${test}")
  endif()
endfunction()

# ashlar_unwind_fast(<test>...): speeds up tests of one process under the address sanitizer. For
# tests of several ranks, the preset asan asks for exact call stacks of all allocations, because the
# suppressions of leaks in MPI libraries need them. That makes tests that allocate much three times
# as slow.
function(ashlar_unwind_fast)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*address")
    set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=fast_unwind_on_malloc=1)
  endif()
endfunction()

# ashlar_thorough_properties(<test> <setting>): sets the properties of a test that runs all its
# cases because of the environment variable <setting> (ashlar_thorough_runs).
function(ashlar_thorough_properties test setting)
  ashlar_test_properties(${test} thorough)
  set_tests_properties(${test} PROPERTIES TIMEOUT 3700)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "${setting}" ASHLAR_TEST_DEADLINE=3600)
endfunction()

# ashlar_test_program(<target> <source>...): adds a program that links all our libraries and test
# libraries that this build has. Up to six sources are compiled as one, so that the headers that
# they share are compiled once.
function(ashlar_test_program target)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  target_include_directories(${target} PRIVATE "${ASHLAR_TEST_DIR}")
  target_link_libraries(${target} PRIVATE ashlar::core ashlar_test_flags)
  if(ARGC GREATER 2)
    target_link_libraries(${target} PRIVATE ashlar_joined_test_flags)
  endif()
  foreach(library ashlar::compiled ashlar::json ashlar::checkpoint doctest::doctest range-v3::range-v3 rapidcheck)
    if(TARGET ${library})
      target_link_libraries(${target} PRIVATE ${library})
    endif()
  endforeach()
endfunction()

# ashlar_test_programs(<out> <kind> <main> <source>...): adds the test programs of one kind (unit,
# mpi), which link the library <main>. Returns, for each source in order, the target that contains
# it. Sources whose names begin with the same word share the program KIND_WORD, such as KIND_plan.
# Sources whose first word is unique share the program KIND_others.
function(ashlar_test_programs out kind main)
  set(words "")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "_.*" "" word "${name}")
    list(APPEND words ${word})
    list(APPEND sources_${word} "${source}")
  endforeach()
  set(targets "")
  foreach(word source IN ZIP_LISTS words ARGN)
    list(LENGTH sources_${word} count)
    if(count EQUAL 1)
      set(word others)
    endif()
    list(APPEND targets ${kind}_${word})
    list(APPEND sources_of_${kind}_${word} "${source}")
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
  list(REMOVE_DUPLICATES targets)
  foreach(target IN LISTS targets)
    ashlar_test_program(${target} ${sources_of_${target}})
    target_link_libraries(${target} PRIVATE ${main})
  endforeach()
endfunction()

function(ashlar_add_static_tests)
  ashlar_glob(sources static *.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(static_tests OBJECT ${sources})
  target_link_libraries(static_tests PRIVATE ashlar::core ashlar_test_flags)
  # Static tests have passed when they are compiled. This test does nothing, but CTest lists it.
  add_test(NAME static COMMAND "${CMAKE_COMMAND}" -E true)
  ashlar_test_properties(static static)
endfunction()

function(ashlar_add_unit_tests)
  ashlar_glob(sources unit *_test.cpp)
  add_library(unit_main OBJECT EXCLUDE_FROM_ALL "${ASHLAR_TEST_DIR}/support/unit_main.cpp")
  target_include_directories(unit_main PRIVATE "${ASHLAR_TEST_DIR}")
  target_link_libraries(unit_main PRIVATE doctest::doctest ashlar_test_flags)
  add_custom_target(unit_tests)
  # This target builds the unit tests in which several threads work. Only these tests run under the
  # thread sanitizer.
  add_custom_target(thread_tests)
  ashlar_test_programs(targets unit unit_main ${sources})
  foreach(source target IN ZIP_LISTS sources targets)
    cmake_path(GET source STEM name)
    add_dependencies(unit_tests ${target})
    if(name MATCHES "^comm_")
      add_dependencies(thread_tests ${target})
      set(labels unit threads)
    else()
      set(labels unit)
    endif()
    set(command ${target} "--source-file=*/unit/${name}.cpp")
    add_test(NAME unit/${name} COMMAND ${command})
    ashlar_test_properties(unit/${name} ${labels})
    set(tests unit/${name})
    ashlar_thorough_runs(setting processes "${source}")
    if(setting)
      list(APPEND tests unit/${name}/all)
      add_test(NAME unit/${name}/all COMMAND ${command})
      ashlar_thorough_properties(unit/${name}/all ${setting})
    endif()
    set_tests_properties(${tests} PROPERTIES FAIL_REGULAR_EXPRESSION "test cases: +0 " COST 50)
    ashlar_unwind_fast(${tests})
  endforeach()
endfunction()

# ashlar_rank_counts(<out> <source>): returns the numbers of the line `// ranks: 1 2 4` among the
# first 15 lines of the source, or the default.
function(ashlar_rank_counts out source)
  set(counts 1 2 3 4 6 8)
  file(STRINGS "${source}" head LIMIT_COUNT 15)
  # The line is not selected by REGEX in file(STRINGS). With REGEX, LIMIT_COUNT would count matching
  # lines and not the lines read.
  list(FILTER head INCLUDE REGEX "^// ranks:( [0-9]+)+ *$")
  if(head)
    list(GET head 0 line)
    string(REGEX MATCHALL "[0-9]+" counts "${line}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  set(${out} "${counts}" PARENT_SCOPE)
endfunction()

# ashlar_thorough_runs(<variable> <counts> <source>): returns the environment variable and the
# numbers of the line `// thorough: NAME=value 2 4` among the first 15 lines of the source, or
# nothing. With this variable the tests of the source run all their cases. tests/run.sh runs them in
# this way only if it is given --thorough.
function(ashlar_thorough_runs variable counts source)
  file(STRINGS "${source}" head LIMIT_COUNT 15)
  list(FILTER head INCLUDE REGEX "^// thorough: [A-Z_]+=[a-z0-9]+( [0-9]+)+ *$")
  set(${variable} "" PARENT_SCOPE)
  set(${counts} "" PARENT_SCOPE)
  if(head)
    string(REGEX REPLACE "^// thorough: ([^ ]+) (.*[0-9]) *$" "\\1;\\2" parts "${head}")
    list(GET parts 0 setting)
    list(GET parts 1 numbers)
    string(REPLACE " " ";" numbers "${numbers}")
    set(${variable} "${setting}" PARENT_SCOPE)
    set(${counts} "${numbers}" PARENT_SCOPE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  endif()
endfunction()

function(ashlar_add_mpi_tests)
  ashlar_glob(sources mpi *_test.cpp)
  add_library(mpi_main OBJECT EXCLUDE_FROM_ALL "${ASHLAR_TEST_DIR}/support/mpi_main.cpp")
  target_include_directories(mpi_main PRIVATE "${ASHLAR_TEST_DIR}")
  target_link_libraries(mpi_main PRIVATE doctest::doctest ashlar::compiled ashlar_test_flags)
  # This program is not registered as a test. tests/scripts/mpi_harness.sh checks that each of its
  # cases fails.
  ashlar_test_program(mpi_failing_cases "${ASHLAR_TEST_DIR}/support/failing_cases.cpp")
  target_link_libraries(mpi_failing_cases PRIVATE mpi_main)
  # Sources that include support/traffic_check.hpp do not share a program with other sources,
  # because this header makes all meshes of its program use messages.
  set(counted "")
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" includes REGEX "support/traffic_check.hpp" LIMIT_COUNT 1)
    if(includes)
      list(APPEND counted "${source}")
    endif()
  endforeach()
  list(REMOVE_ITEM sources ${counted})
  ashlar_test_programs(targets mpi mpi_main ${sources})
  ashlar_test_programs(counted_targets mpi_counted mpi_main ${counted})
  list(APPEND sources ${counted})
  list(APPEND targets ${counted_targets})
  foreach(source target IN ZIP_LISTS sources targets)
    cmake_path(GET source STEM name)
    ashlar_rank_counts(counts "${source}")
    ashlar_thorough_runs(setting thorough_counts "${source}")
    list(TRANSFORM thorough_counts APPEND /all)
    foreach(run IN LISTS counts thorough_counts)
      string(REPLACE "/all" "" count "${run}")
      if(count GREATER ashlar_most_ranks)
        continue()
      endif()
      set(test mpi/${name}/np${run})
      add_test(NAME ${test} COMMAND
        "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${count} ${MPIEXEC_PREFLAGS}
        $<TARGET_FILE:${target}> "--source-file=*/mpi/${name}.cpp" ${MPIEXEC_POSTFLAGS})
      if(run STREQUAL count)
        ashlar_test_properties(${test} mpi np${count})
      else()
        ashlar_thorough_properties(${test} ${setting})
      endif()
      # A test counts as at most two processors.
      set(processors ${count})
      if(count GREATER 2)
        set(processors 2)
      endif()
      math(EXPR cost "200 * (${processors} - 1) + ${count}")
      set_tests_properties(${test} PROPERTIES PROCESSORS ${processors} COST ${cost}
        FAIL_REGULAR_EXPRESSION "\\[0\\] 0 cases on ")
    endforeach()
  endforeach()
endfunction()

# Defines the library device_instances, which has what tests/support/device_instances.hpp declares.
# Tests on real and on fake devices link it.
function(ashlar_add_device_instances)
  add_library(device_instances STATIC EXCLUDE_FROM_ALL "${ASHLAR_TEST_DIR}/support/device_instances.cpp")
  target_include_directories(device_instances PRIVATE "${ASHLAR_TEST_DIR}")
  target_link_libraries(device_instances PUBLIC ashlar::compiled ashlar::cuda PRIVATE ashlar_test_flags)
endfunction()

# Adds the cases of tests/support/device_operators.cpp, and of the other device_*.cpp files that are
# named below, to a target that is built from an operators_test.cpp, for real or for fake devices.
# The cases are compiled once for both.
function(ashlar_link_device_operators target)
  if(NOT target MATCHES "_operators_test$")
    return()
  endif()
  if(NOT TARGET device_operators)
    set(sources "")
    foreach(name factories letters operators products selections)
      list(APPEND sources "${ASHLAR_TEST_DIR}/support/device_${name}.cpp")
    endforeach()
    add_library(device_operators OBJECT EXCLUDE_FROM_ALL ${sources})
    target_include_directories(device_operators PRIVATE "${ASHLAR_TEST_DIR}")
    target_link_libraries(device_operators PRIVATE
      ashlar::compiled ashlar::cuda doctest::doctest range-v3::range-v3 ashlar_test_flags)
  endif()
  target_link_libraries(${target} PRIVATE device_operators)
endfunction()

# Adds the tests of tests/cuda. A source without a line `// ranks:` runs in one process. The other
# sources run on the numbers of ranks in that line. Without a GPU, all these programs exit with 77
# before they run a case (tests/support/cuda_device.cpp).
function(ashlar_add_cuda_tests)
  add_custom_target(cuda_tests)
  ashlar_glob(scripts cuda *.sh)
  # sanitize.sh takes minutes, so only tests/run.sh --preset cuda runs it.
  list(FILTER scripts EXCLUDE REGEX "/sanitize\\.sh$")
  foreach(script IN LISTS scripts)
    ashlar_add_script_test(cuda "${script}")
  endforeach()
  if(TARGET train_gpt)
    add_dependencies(cuda_tests train_gpt)
  endif()
  add_library(cuda_device OBJECT EXCLUDE_FROM_ALL "${ASHLAR_TEST_DIR}/support/cuda_device.cpp")
  target_link_libraries(cuda_device PRIVATE ashlar::cuda ashlar_test_flags)
  ashlar_glob(sources cuda *_test.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    ashlar_test_program(cuda_${name} "${source}")
    ashlar_link_device_operators(cuda_${name})
    target_link_libraries(cuda_${name} PRIVATE device_instances)
    ashlar_enable_cuda(cuda_${name})
    add_dependencies(cuda_tests cuda_${name})
    file(STRINGS "${source}" head LIMIT_COUNT 15)
    list(FILTER head INCLUDE REGEX "^// ranks:( [0-9]+)+ *$")
    if(NOT head)
      target_link_libraries(cuda_${name} PRIVATE unit_main cuda_device)
      add_test(NAME cuda/${name} COMMAND cuda_${name})
      ashlar_test_properties(cuda/${name} cuda)
      set_tests_properties(cuda/${name} PROPERTIES SKIP_RETURN_CODE 77)
    else()
      target_link_libraries(cuda_${name} PRIVATE mpi_main cuda_device)
      ashlar_rank_counts(counts "${source}")
      foreach(count IN LISTS counts)
        set(test cuda/${name}/np${count})
        add_test(NAME ${test} COMMAND
          "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${count} ${MPIEXEC_PREFLAGS}
          $<TARGET_FILE:cuda_${name}> ${MPIEXEC_POSTFLAGS})
        ashlar_test_properties(${test} cuda np${count})
        set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 PROCESSORS 2)
      endforeach()
    endif()
  endforeach()
endfunction()

# Adds tests of the code that launches kernels and calls CUDA and NCCL. They need no GPU, only the
# headers of CUDA and NCCL. The test programs themselves define the functions of CUDA and NCCL that
# the code calls.
function(ashlar_add_fake_cuda_tests)
  ashlar_glob(sources cuda/fake *_test.cpp)
  list(APPEND sources "${ASHLAR_TEST_DIR}/cuda/gemm_test.cpp" "${ASHLAR_TEST_DIR}/cuda/operations_test.cpp")
  add_library(fake_cuda OBJECT EXCLUDE_FROM_ALL
    "${ASHLAR_TEST_DIR}/cuda/fake/fake_cuda.cpp" "${ASHLAR_TEST_DIR}/cuda/fake/fake_nccl.cpp"
    "${ASHLAR_TEST_DIR}/cuda/fake/fake_kernels.cpp" "${ASHLAR_TEST_DIR}/cuda/fake/fake_blas.cpp"
    "${ASHLAR_TEST_DIR}/cuda/fake/fake_nvtx.cpp")
  # These sources do the work of the device, so they are optimized. Their -O1 comes after -Og, and
  # compilers obey the last -O option.
  set_source_files_properties("${ASHLAR_TEST_DIR}/cuda/fake/fake_kernels.cpp"
    "${ASHLAR_TEST_DIR}/cuda/fake/fake_blas.cpp" PROPERTIES COMPILE_OPTIONS -O1)
  # The folder fake/device comes first, so that its kernel launcher is included instead of the one
  # for nvcc.
  target_include_directories(fake_cuda BEFORE PRIVATE "${ASHLAR_TEST_DIR}/cuda/fake/device" "${ASHLAR_TEST_DIR}")
  target_link_libraries(fake_cuda PRIVATE ashlar::cuda ashlar_test_flags)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    ashlar_test_program(fake_${name} "${source}")
    ashlar_link_device_operators(fake_${name})
    target_link_libraries(fake_${name} PRIVATE unit_main fake_cuda device_instances ashlar::cuda)
    add_test(NAME fake/${name} COMMAND fake_${name})
    ashlar_test_properties(fake/${name} unit threads)
    set_tests_properties(fake/${name} PROPERTIES COST 50)
    ashlar_unwind_fast(fake/${name})
    add_dependencies(unit_tests fake_${name})
    add_dependencies(thread_tests fake_${name})
  endforeach()
  # Links the benchmarks of one GPU with the fake device, for tests/scripts/bench_cuda.sh.
  foreach(name gemm kernels attention launch)
    if(TARGET bench_cuda_${name}_object)
      add_executable(fake_bench_${name} $<TARGET_OBJECTS:bench_cuda_${name}_object>)
      set_target_properties(fake_bench_${name} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/fake/bench/cuda")
      target_link_libraries(fake_bench_${name} PRIVATE fake_cuda ashlar::cuda)
    endif()
  endforeach()
endfunction()

# Adds the test `headers`, which checks that each public header of all libraries compiles by itself.
# Clang is preferred because it can do so in one process (cmake/run_headers.cmake).
function(ashlar_add_header_tests)
  set(compiler "${CMAKE_CXX_COMPILER}")
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    find_program(ASHLAR_HEADER_COMPILER NAMES clang++ DOC "Compiles each public header alone")
    if(ASHLAR_HEADER_COMPILER)
      set(compiler "${ASHLAR_HEADER_COMPILER}")
    endif()
  endif()
  set(headers "")
  set(includes "")
  set(definitions "")
  get_property(libraries GLOBAL PROPERTY ASHLAR_LIBRARIES)
  foreach(library IN LISTS libraries)
    get_target_property(own ${library} HEADER_SET)
    list(APPEND headers ${own})
    list(APPEND includes "$<JOIN:$<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>,|>")
    list(APPEND definitions "$<JOIN:$<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>,|>")
  endforeach()
  list(JOIN headers "\n" lines)
  list(JOIN includes "|" includes)
  list(JOIN definitions "|" definitions)
  set(folder "${PROJECT_BINARY_DIR}/tests/headers")
  file(WRITE "${folder}.txt" "${lines}\n")
  add_test(NAME headers COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${compiler}" "-DHEADERS=${folder}.txt"
    "-DROOT=${ashlar_include_dir}" "-DFOLDER=${folder}" "-DINCLUDES=${includes}"
    "-DDEFINITIONS=${definitions}" -P "${PROJECT_SOURCE_DIR}/cmake/run_headers.cmake")
  ashlar_test_properties(headers headers)
  # Without Clang, each header is compiled by itself, which takes long.
  math(EXPR timeout "8 * ${ASHLAR_TEST_TIMEOUT}")
  set_tests_properties(headers PROPERTIES TIMEOUT ${timeout} COST 100)
endfunction()

# ashlar_group_cases(<source>...): divides sources that must not compile into the lists group_1,
# group_2, ..., and sets `groups` to their number. Within a group, no text that one source expects
# is part of a text that another source expects, and no two sources expect the same pattern.
function(ashlar_group_cases)
  set(most 16) # Compiling one group of more files takes longer than two groups on two cores.
  set(groups 0)
  foreach(source IN LISTS ARGN)
    expected_lines(texts "${source}" "expect")
    expected_lines(patterns "${source}" "expect pattern")
    string(APPEND texts "${patterns}")
    set(group 0)
    set(fits FALSE)
    while(NOT fits)
      math(EXPR group "${group} + 1")
      list(LENGTH group_${group} size)
      if(size LESS most)
        share_a_text(shared "${texts}" "${texts_${group}}")
        if(NOT shared)
          set(fits TRUE)
        endif()
      endif()
    endwhile()
    list(APPEND group_${group} "${source}")
    string(APPEND texts_${group} "${texts}")
    if(group GREATER groups)
      set(groups ${group})
    endif()
  endforeach()
  foreach(group RANGE 1 ${groups})
    set(group_${group} "${group_${group}}" PARENT_SCOPE)
  endforeach()
  set(groups ${groups} PARENT_SCOPE)
endfunction()

function(ashlar_add_compile_fail_tests)
  ashlar_glob(sources compile_fail *.cpp)
  set(library ashlar::core)
  if(TARGET ashlar::cuda)
    set(library ashlar::cuda)
  elseif(TARGET ashlar::ashlar)
    set(library ashlar::ashlar)
  endif()
  if(NOT TARGET ashlar::cuda)
    list(FILTER sources EXCLUDE REGEX "/cuda_[a-z_]*\\.cpp$")
  endif()

  # The error messages are promised for GCC and Clang. The tests therefore run with both compilers,
  # if both are installed, and not only with the compiler of the build.
  set(names gcc clang)
  set(other clang++)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(names clang gcc)
    set(other g++)
  endif()
  set(compilers "${CMAKE_CXX_COMPILER}")
  find_program(ASHLAR_OTHER_COMPILER ${other})
  if(ASHLAR_OTHER_COMPILER)
    list(APPEND compilers "${ASHLAR_OTHER_COMPILER}")
  else()
    list(REMOVE_AT names 1)
  endif()

  # With GCC, the headers are in the form of ashlar::compiled. In each of these tests, GCC
  # instantiates again all templates that the functions of the headers use. In this form there are
  # far fewer such templates. Clang instantiates them only once, in the precompiled header, so its
  # tests use the other form, in which the headers define all functions.
  set(definitions_of_clang "$<JOIN:$<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>,|>")
  set(definitions_of_gcc "${definitions_of_clang}")
  if(TARGET ashlar::compiled)
    string(APPEND definitions_of_gcc "|ASHLAR_COMPILED=1")
  endif()
  set(script "${PROJECT_SOURCE_DIR}/cmake/run_compile_fail.cmake")
  ashlar_group_cases(${sources})
  foreach(compiler label IN ZIP_LISTS compilers names)
    set(arguments
      "-DINCLUDES=$<JOIN:$<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>,|>"
      "-DDEFINITIONS=${definitions_of_${label}}")
    # Half of the time of these tests would be spent reading headers, so each compiler precompiles
    # them once.
    set(prefix "${PROJECT_BINARY_DIR}/tests/compile_fail/${label}/all.hpp")
    if(TARGET ashlar::cuda)
      file(WRITE "${prefix}"
        "#include <ashlar/ashlar.hpp>\n#include <ashlar/comm/nccl/backend.hpp>\n")
    elseif(TARGET ashlar::ashlar)
      file(WRITE "${prefix}" "#include <ashlar/ashlar.hpp>\n")
    else()
      file(WRITE "${prefix}" "")
    endif()
    set(test compile_fail/headers/${label})
    add_test(NAME ${test} COMMAND "${CMAKE_COMMAND}"
      "-DCOMPILER=${compiler}" "-DPREFIX=${prefix}" ${arguments} -P "${script}")
    ashlar_test_properties(${test} compile_fail)
    set_tests_properties(${test} PROPERTIES FIXTURES_SETUP compile_fail_headers_${label})
    list(JOIN sources "|" controls)
    set(test compile_fail/controls/${label})
    add_test(NAME ${test} COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${compiler}"
      "-DPREFIX=${prefix}" "-DCONTROLS=${controls}" ${arguments} -P "${script}")
    ashlar_test_properties(${test} compile_fail)
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED compile_fail_headers_${label})
    foreach(group RANGE 1 ${groups})
      list(JOIN group_${group} "|" cases)
      set(test compile_fail/${group}/${label})
      add_test(NAME ${test} COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${compiler}"
        "-DPREFIX=${prefix}" "-DCASES=${cases}" ${arguments} -P "${script}")
      ashlar_test_properties(${test} compile_fail)
      set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED compile_fail_headers_${label})
    endforeach()
  endforeach()
endfunction()

# Builds the programs that scripts run: tests/programs/x.cpp becomes tests/program_x in the build
# tree.
function(ashlar_add_test_programs)
  ashlar_glob(sources programs *.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    ashlar_test_program(program_${name} "${source}")
  endforeach()
  # This program is built as if with another version of ashlar. It does not link ashlar::compiled,
  # because that library has the present version.
  add_executable(program_other_version "${ASHLAR_TEST_DIR}/programs/failing_rank.cpp")
  target_link_libraries(program_other_version PRIVATE ashlar::ashlar)
  target_compile_definitions(program_other_version PRIVATE ASHLAR_VERSION=1)
  target_compile_options(program_other_version PRIVATE -O0)
endfunction()

# ashlar_add_script_test(<label> <script>): adds one script as a test.
function(ashlar_add_script_test label script)
  cmake_path(GET script STEM name)
  set(test ${label}/${name})
  add_test(NAME ${test} COMMAND bash "${script}")
  ashlar_test_properties(${test} ${label})
  # Most scripts start jobs of several ranks, so they count as two processors. Scripts with the line
  # `# processors: 1` among their first 15 lines count as one: they start no ranks, or mostly wait.
  set(processors 2)
  file(STRINGS "${script}" head LIMIT_COUNT 15)
  if("# processors: 1" IN_LIST head)
    set(processors 1)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
  math(EXPR timeout "3 * ${ASHLAR_TEST_TIMEOUT}")
  # A script with a line `# timeout: N` among these lines gets N seconds. Such a script does more
  # work under --thorough.
  list(FILTER head INCLUDE REGEX "^# timeout: [0-9]+$")
  if(head)
    string(REGEX REPLACE "^# timeout: " "" timeout "${head}")
  endif()
  math(EXPR cost "200 * (${processors} - 1) + 100")
  set_tests_properties(${test} PROPERTIES
    SKIP_RETURN_CODE 77 TIMEOUT ${timeout} PROCESSORS ${processors} COST ${cost})
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
    "ASHLAR_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "ASHLAR_BINARY_DIR=${PROJECT_BINARY_DIR}"
    "ASHLAR_MPIEXEC=${MPIEXEC_EXECUTABLE}" "ASHLAR_TEST_MAX_RANKS=${ashlar_most_ranks}")
endfunction()

function(ashlar_add_script_tests)
  ashlar_glob(scripts scripts *.sh)
  foreach(script IN LISTS scripts)
    ashlar_add_script_test(script "${script}")
  endforeach()
endfunction()
