# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The scripts that make a page of bench/results source this file. page_options reads their options.
# write_page puts the tables of this run between the page's markers `<!-- begin NAME -->` and
# `<!-- end -->`, and leaves what stands outside them as it is.
#
#   table NAME...   of the script that sources this: prints the table of a marker, given its words

# page_options <usage> <option>...: sets quick and report_only to yes or no. -h prints the usage and ends;
# an option that there is not is an error.
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

# write_page <page> <new page>
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
