# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=… -DHEADERS=FILE -DROOT=… -DFOLDER=… -DINCLUDES=a|b [-DDEFINITIONS=a|b] -P
# run_headers.cmake
#
# Compiles each header that FILE lists, to show that it includes all of our headers that it uses.
# tests/scripts/other_includes.sh shows the same for headers of other libraries.
#
# Clang compiles all of them in one process, as submodules of one module. With Clang's option
# local-submodule-visibility, a submodule sees only what it includes, directly or indirectly. So a
# missing #include is an error, as if the header were compiled alone. The headers of other libraries
# are a second module. A header that includes one of them sees all of them.
#
# Other compilers compile each header by itself, which takes a hundred times as long.

cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/compile_command.cmake")
compile_command(command)

file(STRINGS "${HEADERS}" headers)
list(LENGTH headers listed)
if(listed EQUAL 0)
  message(FATAL_ERROR "no headers")
endif()
file(REMOVE_RECURSE "${FOLDER}") # The folder may be left from an earlier state of the headers.
file(MAKE_DIRECTORY "${FOLDER}")

execute_process(COMMAND "${COMPILER}" --version OUTPUT_VARIABLE version)
if(NOT version MATCHES "clang")
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  execute_process(INPUT_FILE "${HEADERS}" RESULT_VARIABLE status
    COMMAND xargs -P ${cores} -I "{}" ${command} -fsyntax-only -include "{}" -x c++ /dev/null)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "some headers do not compile alone")
  endif()
  message(NOTICE "${listed} headers compile alone")
  return()
endif()

# `ours` becomes the list of the headers in HEADERS and of all our headers that these include,
# directly or indirectly. `others` becomes the list of the headers of other libraries that a header
# in `ours` includes.
set(ours ${headers})
set(others "")
set(next 0)
set(count ${listed})
while(next LESS count)
  list(GET ours ${next} header)
  file(STRINGS "${header}" lines REGEX "^# *include <[^>]+>")
  list(TRANSFORM lines REPLACE ".*<([^>]+)>.*" "\\1")
  foreach(name IN LISTS lines)
    if(name MATCHES "^ashlar/")
      list(APPEND ours "${ROOT}/${name}")
    else()
      list(APPEND others "${name}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES ours)
  list(LENGTH ours count)
  math(EXPR next "${next} + 1")
endwhile()
list(REMOVE_DUPLICATES others)

# A module names headers by their paths. The compiler prints the paths, as a rule of make, in the
# order in which it opens the headers. So a header comes before headers of the same name that it
# includes.
list(TRANSFORM others REPLACE "(.+)" "#if __has_include(<\\1>)\n#include <\\1>\n#endif\n"
  OUTPUT_VARIABLE text)
list(JOIN text "" text)
file(WRITE "${FOLDER}/others.cpp" "${text}")
execute_process(COMMAND ${command} -M "${FOLDER}/others.cpp" OUTPUT_VARIABLE rule
  COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(paths UNIX_COMMAND "${rule}")
set(map "module others [system] {\n")
foreach(name IN LISTS others)
  string(LENGTH "/${name}" length)
  foreach(path IN LISTS paths)
    string(FIND "${path}" "/${name}" at REVERSE)
    string(LENGTH "${path}" size)
    math(EXPR end "${at} + ${length}")
    if(at GREATER -1 AND end EQUAL size)
      string(APPEND map "  header \"${path}\"\n")
      break()
    endif()
  endforeach()
endforeach()
string(APPEND map "  export *\n}\nmodule ashlar {\n")
foreach(header IN LISTS ours)
  string(MAKE_C_IDENTIFIER "${header}" name)
  string(APPEND map "  module ${name} { header \"${header}\" export * }\n")
endforeach()
file(WRITE "${FOLDER}/module.modulemap" "${map}}\n")

list(APPEND command -fmodules -fno-implicit-modules -fno-implicit-module-maps -ferror-limit=0
  -x c++ -Xclang -emit-module -c "${FOLDER}/module.modulemap")
execute_process(COMMAND ${command} -fmodule-name=others -o "${FOLDER}/others.pcm"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${command} -fmodule-name=ashlar -o "${FOLDER}/ashlar.pcm"
  -Xclang -fmodules-local-submodule-visibility "-fmodule-map-file=${FOLDER}/module.modulemap"
  "-fmodule-file=others=${FOLDER}/others.pcm" RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the headers do not compile, or include too little")
endif()
message(NOTICE "${listed} headers compile alone")
