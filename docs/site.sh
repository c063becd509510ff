#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes a site of HTML from README.md, docs/*.md, the pages of the rooms and the comments of the
# headers with Doxygen (docs/Doxyfile, docs/site), and checks the links within it. Nothing else
# needs the site.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: docs/site.sh [-h] [OUTPUT_FOLDER]
Makes the documentation as HTML and prints the path of its first page; about half a minute.
  OUTPUT_FOLDER   default: build/site. An earlier site in it is replaced, and a folder of other files refused.
Ends with 1 if a link within the site leads nowhere. It installs nothing, and was tried with doxygen 1.9.4.
TEXT
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
  -*)
    printf 'docs/site.sh: unknown option %s\n' "$1" >&2
    usage >&2
    exit 2
    ;;
esac
if [ $# -gt 1 ]; then
  usage >&2
  exit 2
fi
if ! command -v doxygen >/dev/null 2>&1; then
  cat >&2 <<'TEXT'
docs/site.sh: doxygen was not found. Please install it, then run this again:
  Debian, Ubuntu: sudo apt-get install -y --no-install-recommends doxygen
  Fedora:         sudo dnf install -y doxygen
  Homebrew:       brew install doxygen
TEXT
  exit 1
fi

output="${1:-}"
case "$output" in
  "" | /*) ;;
  *) output="$PWD/$output" ;;
esac
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
output="${output:-$PWD/build/site}"
export LC_ALL=C

# A folder with an earlier site is removed, because pages of removed headers would stay. A folder
# with other files is refused.
if [ -e "$output/navtree.js" ]; then
  rm -rf -- "$output"
elif [ -n "$(ls -A -- "$output" 2>/dev/null)" ]; then
  printf 'docs/site.sh: %s contains files that are not a site; give another folder\n' "$output" >&2
  exit 2
fi
mkdir -p -- "$output"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT

# ---- The rooms. Each room becomes a group of Doxygen, in the order of docs/rooms.md, followed by
# the folders of rooms.
# shellcheck disable=SC2016 # These are backquotes of Markdown.
{
  sed -n 's/^| \(`.*`\) |.*/\1/p' docs/rooms.md | tr -d '`' | tr ' ' '\n' |
    sed 's,.*,include/ashlar/&/README.md,'
  find include/ashlar -name README.md | sort
} | awk '!seen[$0]++' | while IFS= read -r page; do
  awk -f docs/site/text.awk -f docs/site/pages.awk "$page"
  echo # This line ends the comment.
done >"$work/rooms.dox"

# ---- The site.
{
  cat docs/Doxyfile
  printf 'INPUT += "%s"\n' "$work/rooms.dox"
  printf 'OUTPUT_DIRECTORY = "%s"\n' "$output"
  printf 'WARN_LOGFILE = "%s"\n' "$work/warnings"
} | doxygen - || failed=yes
touch "$work/warnings"
sed "s,$PWD/,,g; s,$work/,,g" "$work/warnings"
if [ -n "${failed:-}" ]; then
  echo 'docs/site.sh: doxygen failed' >&2
  exit 1
fi

# If all nested classes of a class are private, Doxygen shows no list of them, but links to this
# list. These links are removed.
{ grep -rl --include='*.html' 'href="#nested-classes"' "$output" || true; } | while IFS= read -r file; do
  grep -q 'id="nested-classes"' "$file" ||
    sed -i.before 's,<a href="#nested-classes">Classes</a>\( &#124;\)\{0\,1\},,' "$file"
done
find "$output" -name '*.before' -delete

# ---- The links. Each one within the site must lead to a file, and its fragment to an element.
( cd -- "$output" && find . -name '*.html' -exec awk '
  BEGIN { RS = "<" }
  FNR == 1 { file = substr(FILENAME, 3); print "file", file }
  match($0, / id="[^"]*"/) { print "anchor", file "#" substr($0, RSTART + 5, RLENGTH - 6) }
  match($0, / name="[^"]*"/) { print "anchor", file "#" substr($0, RSTART + 7, RLENGTH - 8) }
  match($0, /^[a-z]+ [^>]*(href|src|data)="[^"]*"/) {
    link = substr($0, RSTART, RLENGTH - 1)
    sub(/.*"/, "", link)
    if (link !~ /^[a-z]+:/) print "link", file, link
  }
' {} + ) >"$work/links"
( cd -- "$output" && find . -type f ! -name '*.html' ) | sed 's,^\./,file ,' >>"$work/links"
sort -u "$work/links" | awk '
  $1 == "link" { from[++count] = $2; to[count] = $3; next } # Anchors and files come first in this order.
  { there[$2] = 1 }
  END {
    for (i = 1; i <= count; i++) {
      target = to[i]
      if (target ~ /^#/) target = from[i] target
      folder = from[i]
      if (sub(/[^\/]*$/, "", folder) && folder != "") target = folder target
      sub(/#$/, "", target)
      if (!(target in there)) { print "a link to nothing: " from[i] ": " to[i]; bad++ }
    }
    print count " links within the site, broken: " bad + 0
    exit bad > 0
  }
' >"$work/report" || broken=yes

cat "$work/report"
printf 'Warnings of Doxygen: %s\n' "$(grep -cE '(warning|error):' "$work/warnings" || true)"
printf '%s\n' "$output/index.html"
# A link that Doxygen could not resolve is missing in the HTML, so its warning is an error.
if grep -q 'unable to resolve reference' "$work/warnings"; then broken=yes; fi
[ -z "${broken:-}" ]
