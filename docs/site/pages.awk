# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# awk -f docs/site/text.awk -f docs/site/pages.awk PAGE prints a page of Markdown for Doxygen, in
# the root of the repository.
#
#   README.md                       becomes the main page
#   include/ashlar/ROOM/README.md   becomes the group room_ROOM, as a comment of C++
#   FOLDER/NAME.md                  becomes the page folder_name
#
# Every heading gets a label, such as docs_building-by-hand, and links between pages lead to labels.
# Comments of HTML are left out: only tests/scripts/docs.sh reads them.

FNR == 1 {
  page = FILENAME
  if (substr(page, 1, length(root) + 1) == root "/") page = substr(page, length(root) + 2)
  id = id_of(page)
  is_room = page ~ /^include\//
}
/^```/ { flush(); put($0); fenced = !fenced; next }
fenced { put($0); next }
/^<!--.*-->$/ { flush(); next }
/^#+ / { flush(); heading($0); next }
/^    / && (blank || verbatim) { flush(); put($0); verbatim = 1; next }
/^ *$/ { flush(); put(""); blank = 1; next }
{ paragraph = paragraph $0 "\n"; blank = verbatim = 0 }
END { flush() }

# flush(): prints the paragraph that was gathered, if there is one.
function flush(    i, count, lines) {
  blank = verbatim = 0
  if (paragraph == "") return
  sub(/\n$/, "", paragraph)
  count = split(prose(paragraph), lines, "\n")
  for (i = 1; i <= count; i++) put(lines[i])
  paragraph = ""
}

# put(line): prints a line, in a comment where the page is a room's.
function put(line) { print (is_room ? "/// " : "") line }

# heading(line): prints a heading with its label.
function heading(line,    level, text) {
  match(line, /^#+/)
  level = RLENGTH
  text = substr(line, level + 2)
  line = text
  gsub(/`/, "", text)
  text = plain(text)
  if (level > 1) {
    # To Doxygen the sections of a group begin one level higher than those of a page.
    put(substr("######", 1, is_room ? level - 1 : level) " " text " {#" id "-" slug(line) "}")
  } else if (is_room) {
    put("@defgroup " id " " text)
    if (parent_of(page) != "") put("@ingroup " id_of(parent_of(page)))
  } else {
    put("# " text (id == "index" ? "" : " {#" id "}"))
  }
}

# slug(heading): returns the heading in the form in which links name it.
function slug(text) {
  text = tolower(text)
  gsub(/[^a-z0-9 _-]/, "", text)
  gsub(/ /, "-", text)
  return text
}

# id_of(path): returns the name of a page or group.
function id_of(path) {
  if (path == "README.md") return "index"
  sub(/\.md$/, "", path)
  if (sub(/^include\/ashlar\//, "room_", path)) sub(/\/README$/, "", path)
  gsub(/\//, "_", path)
  return tolower(path)
}

# parent_of(path): returns the page of the room that contains this page's folder, or "".
function parent_of(path) {
  if (!sub(/\/[a-z_]+\/README\.md$/, "/README.md", path) || path == "include/ashlar/README.md") return ""
  return path
}

# resolve(target): returns the path of a file from the root of the repository.
function resolve(target,    folder) {
  folder = page
  if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
  while (sub(/^\.\.\//, "", target))
    if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
  return folder == "." ? target : folder "/" target
}

# link_to(target): returns the target of a link as Doxygen looks it up.
function link_to(target,    file, fragment, at) {
  if (target ~ /^[a-z]+:/) return target
  file = target
  fragment = ""
  at = index(target, "#")
  if (at) {
    file = substr(target, 1, at - 1)
    fragment = "-" substr(target, at + 1)
  }
  file = file == "" ? page : resolve(file)
  if (file ~ /\.md$/) return "@ref " id_of(file) fragment
  if (file ~ /\.(hpp|cuh)$/) return "@ref " included(file)
  return file
}

# file_named(text): returns the header that the page of a room names, or "".
function file_named(text,    file, line) {
  if (!is_room || text !~ /^[a-z0-9_\/]+\.(hpp|cuh)$/) return ""
  file = resolve(text)
  if ((getline line < file) <= 0) return ""
  close(file)
  return included(file)
}

# included(file): returns the path by which a header is included, so that Doxygen finds the right
# file.
function included(file) {
  sub(/^include\//, "", file)
  return file
}
