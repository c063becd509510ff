# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Functions of both filters of the site (pages.awk, headers.awk). They escape prose for Doxygen,
# which would otherwise misread quotes and vertical bars in code, and take @, # and < for the
# beginning of commands.

BEGIN { root = ENVIRON["PWD"] }

# prose(text): returns a paragraph, a table or a list for Doxygen. Code becomes <code>, and
# link_to() gives the targets of links. If `literal` is set, the text has no links, no HTML and no
# emphasis.
function prose(text,    result, at, ticks, rest) {
  result = ""
  while (match(text, literal ? "`+" : "`+|!?[[]")) {
    at = RSTART
    ticks = substr(text, at, RLENGTH)
    rest = substr(text, at + RLENGTH)
    result = result plain(substr(text, 1, at - 1))
    if (ticks ~ /`/ && (at = index(rest, ticks))) {
      result = result code(substr(rest, 1, at - 1))
      text = substr(rest, at + length(ticks))
    } else if (ticks !~ /`/ && match(rest, /^([^][]|\[[^][]*\])*\]\([^() ]+\)/)) {
      at = RLENGTH
      result = result link(ticks, substr(rest, 1, at))
      text = substr(rest, at + 1)
    } else {
      result = result ticks
      text = rest
    }
  }
  return result plain(text)
}

# link(opening, rest): returns a link, whose rest is TEXT](TARGET), with the target that link_to gives.
# Doxygen allows no code in the text of a link that it looks up.
function link(opening, rest,    at, text, target) {
  at = index(rest, "](")
  text = substr(rest, 1, at - 1)
  target = link_to(substr(rest, at + 2, length(rest) - at - 2))
  if (target ~ /^@ref /) gsub(/[`*]/, "", text)
  else if (opening == "[") text = prose(text)
  return opening text "](" target ")"
}

# code(text): returns code in the line. If it names a file of the site, it is a link too.
function code(text,    target) {
  target = file_named(text)
  if (target != "") return "<code>@ref " target " \"" text "\"</code>"
  gsub(/\\\|/, "|", text) # Tables need the backslash.
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  gsub(/[]\\@#$%*|"[]/, "\\\\&", text)
  gsub(/--/, "\\--", text)
  if (text ~ /^_/) text = "\\" text
  return "<code>" text "</code>"
}

# plain(text): returns prose without code and links. Doxygen leaves alone what is in quotes.
function plain(text,    result, quoted, at) {
  result = ""
  while (match(text, /"[^"\n]*"/)) {
    at = RSTART
    quoted = substr(text, at, RLENGTH)
    result = result unquoted(substr(text, 1, at - 1)) quoted
    text = substr(text, at + length(quoted))
  }
  return result unquoted(text)
}

# unquoted(text): returns prose without code, links and quotes. A # at the beginning of a line is a
# heading, and stays one.
function unquoted(text) {
  if (literal) {
    gsub(/[\\*<>]/, "\\\\&", text)
    gsub(/ _/, " \\_", text)
  }
  gsub(/@/, "\\@", text)
  gsub(/[^ \n]#/, "&\001", text)
  gsub(/#\001/, "\\#", text)
  return text
}
