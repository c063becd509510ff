# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Reads what the files of tests/compile_fail expect in the compiler's output:
#
#   // expect: TEXT               the output contains this text, word for word
#   // expect pattern: PATTERN    a part of the output matches this regular expression of CMake
#
# Texts may have brackets and semicolons, at which a CMake list would be divided wrongly. Several
# texts are therefore kept as lines of one string. Each line ends with \n.

# expected_lines(<out> <file> <key>): returns the lines of the file that begin with `// <key>: `,
# without this beginning. The key is `expect` or `expect pattern`.
function(expected_lines out file key)
  file(READ "${file}" rest)
  set(lines "")
  while(rest MATCHES "// ${key}: ([^\n]*)\n(.*)")
    string(APPEND lines "${CMAKE_MATCH_1}\n")
    set(rest "${CMAKE_MATCH_2}")
  endwhile()
  set(${out} "${lines}" PARENT_SCOPE)
endfunction()

# share_a_text(<out> <lines> <others>): returns whether a line of one string is contained in a line
# of the other string. If so, compiler output that has the longer text also has the shorter text.
function(share_a_text out lines others)
  set(${out} FALSE PARENT_SCOPE)
  foreach(pair IN ITEMS "lines others" "others lines")
    string(REPLACE " " ";" pair "${pair}")
    list(GET pair 0 shorter)
    list(GET pair 1 longer)
    set(rest "${${shorter}}")
    while(rest MATCHES "^([^\n]*)\n(.*)")
      set(rest "${CMAKE_MATCH_2}")
      string(FIND "${${longer}}" "${CMAKE_MATCH_1}" at)
      if(NOT at EQUAL -1)
        set(${out} TRUE PARENT_SCOPE)
        return()
      endif()
    endwhile()
  endforeach()
endfunction()
