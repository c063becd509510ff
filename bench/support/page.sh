# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Scripts that write a page of bench/results source this file. page_options parses their options.
# write_page copies a page and replaces the text between the markers `<!-- begin WORD... -->` and
# `<!-- end -->` with new tables. Text outside the markers is copied unchanged.
#
# A script that sources this file defines a function `table WORD...`, which prints the table that
# belongs to the words of a marker. For this, heading prints the head of a table, and rows reads a
# file of figures.

# page_options <usage> <option>...: sets quick and report_only to yes or no. -h prints the usage and
# exits. An unknown option is an error.
page_options() {
  local usage="$1" option
  shift
  quick=no report_only=no
  for option in "$@"; do
    case "$option" in
      --quick) quick=yes ;;
      --report) report_only=yes ;;
      -h | --help) printf '%s\n' "$usage"; exit 0 ;;
      *) printf '%s: unknown option %s\n%s\n' "$0" "$option" "$usage" >&2; exit 2 ;;
    esac
  done
}

# write_page <page> <new page>: copies <page> to <new page> with new tables.
write_page() {
  local from="$1" to="$2" line name words
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case "$line" in
      '<!-- begin '*)
        name="${line#<!-- begin }"
        read -r -a words <<<"${name% -->}"
        table "${words[@]}"
        while IFS= read -r line && [ "${line#<!-- end}" = "$line" ]; do :; done
        printf '%s\n' "$line"
        ;;
    esac
  done <"$from" >"$to"
}

# replace_page <page>: gives <page> new tables. If a table cannot be made, the page stays as it was.
replace_page() (
  folder="$(mktemp -d)"
  trap 'rm -rf -- "$folder"' EXIT
  write_page "$1" "$folder/page.md"
  mv -- "$folder/page.md" "$1"
)

# heading <names>: prints the head of a table. The names of its columns are separated by bars.
heading() {
  printf '| %s |\n' "$1"
  printf '%s\n' "$1" | awk -F'|' '{ for (i = 1; i <= NF; ++i) printf "| --- "; print "|" }'
}

# rows <file> <awk program>: runs an awk program on each row of $figures/<file>.csv, without the
# heading. In the program, c[NAME] is the number of the column NAME.
rows() {
  # shellcheck disable=SC2154 # The script sets figures.
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) c[$i] = i; next } '"$2" "$figures/$1.csv"
}
