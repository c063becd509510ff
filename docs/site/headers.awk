# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# awk -f docs/site/text.awk -f docs/site/headers.awk HEADER prints a header for Doxygen. The lines
# keep their numbers.
#
#   file comment         The first block of // after #pragma once becomes the documentation of the
#                        file.
#   comments of ///      They are escaped, so that Doxygen prints their text unchanged.
#   tables in comments   Lines that are indented by two spaces or more stay as they are.
#   namespaces           Their contents go into the group of the room (pages.awk). Namespaces named
#                        detail do not, since the site hides them.
#   friends              Functions become members, and classes are left out. Doxygen's links to
#                        friends of classes that are in groups lead nowhere.
#   std                  Specializations of templates of the standard library are left out.

BEGIN { literal = 1 }
FNR == 1 {
  path = FILENAME
  if (substr(path, 1, length(root) + 1) == root "/") path = substr(path, length(root) + 2)
  group = group_of(path)
  depth = outside = 0
  before = 1 # The file comment is still to come.
}

/^ *\/\/\/ / || /^ *\/\/\/$/ { gather("///"); next }
before && /^\/\// && !/^\/\/ SPDX-/ { gather("//"); next }
# An empty line is held back, because the file comment begins in the empty line before it.
{ flush() }
held { print ""; held = 0 }
before && /^$/ { held = 1; next }
/^[^\/#]/ || /^#include/ { before = 0 }
/^(inline )?namespace [a-z_:]+ \{$/ {
  is_detail = /detail \{$/ || (depth && hidden[depth])
  print (depth && !is_detail ? close_group() : "") $0 (is_detail ? "" : open_group())
  hidden[++depth] = is_detail
  next
}
/^\}  \/\/ namespace / && depth {
  is_detail = hidden[depth--]
  print is_detail ? $0 : close_group() "}" (depth ? open_group() : "") substr($0, 2)
  next
}
!depth && /^template <>$/ { print "/** @cond */ " $0; outside = 1; next }
outside && /^\};/ { print $0 " /** @endcond */"; outside = 0; next }
/^ +friend [^(]*;$/ { print ""; next }
/^ +friend .*\(/ { sub(/friend /, "") }
match($0, /\/\/\/< /) { # It is at the end of a line of code.
  print substr($0, 1, RSTART + 4) prose(substr($0, RSTART + 5))
  next
}
{ print }
END { flush() }

function link_to(target) { return target }
function file_named(text) { return "" }

# group_of(path): returns the group of the innermost folder around the file that has a README.md.
function group_of(path,    folder, line) {
  folder = path
  while (sub(/\/[^\/]*$/, "", folder) && folder != "include/ashlar")
    if ((getline line < (folder "/README.md")) > 0) {
      close(folder "/README.md")
      sub(/^include\/ashlar\//, "", folder)
      gsub(/\//, "_", folder)
      return "room_" folder
    }
  return ""
}

# Doxygen reads \ilinebr as a line break that does not count as a line.
function open_group() { return group == "" ? "" : " /** @addtogroup " group "\\ilinebr @{ */" }
function close_group() { return group == "" ? "" : "/** @} */ " }

# gather(mark): adds one more line to the stored comment.
function gather(mark,    text) {
  if (count && mark != kind) flush()
  kind = mark
  match($0, /^ */)
  text = substr($0, RLENGTH + length(mark) + 1)
  if (!count) {
    indent = substr($0, 1, RLENGTH)
    if (held && kind == "///") print ""
    else if (held) begun = 1
    held = 0
  }
  sub(/^ /, "", text)
  gsub(/\*\//, "* /", text) # It would end the block.
  comment[++count] = text
}

# flush(): prints the comment that was gathered, if there is one, as one block.
function flush(    i, k, first, start, parts, lines, tail) {
  if (!count) return
  start = indent "/** "
  if (kind == "//") {
    start = start "@file" (group == "" ? "" : "\\ilinebr @ingroup " group) (begun ? "\n" : "\\ilinebr ")
    before = begun = 0
  }
  for (i = 1; i <= count; i++) tail[i] = ""
  for (i = 1; i <= count; i++) {
    if (is_drawn(i)) {
      if (i > 1) tail[i - 1] = " @verbatim"
      else start = start "@verbatim "
      while (is_drawn(i + 1) || comment[i + 1] == "" && is_drawn(i + 2)) i++
      tail[i] = " @endverbatim"
    } else if (comment[i] != "") {
      first = i
      parts = comment[i]
      while (i < count && comment[i + 1] != "" && !is_drawn(i + 1)) parts = parts "\n" comment[++i]
      split(prose(parts), lines, "\n")
      for (k = first; k <= i; k++) comment[k] = lines[k - first + 1]
    }
  }
  for (i = 1; i <= count; i++)
    print (i == 1 ? start : "") comment[i] tail[i] (i == count ? " */" : "")
  count = 0
}

# is_drawn(i): returns whether a line of the comment is indented, as tables and code are.
function is_drawn(i) { return i <= count && comment[i] ~ /^  +[^ ]/ }
