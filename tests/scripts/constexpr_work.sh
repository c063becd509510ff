#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Checks that the compilers' work for the search in constant expressions does not grow: each
# tests/constexpr/*.cpp must compile within the limits that it names. The limits are the evaluators'
# operations (with Clang: steps) and loops, the depth of templates and, with Clang, the number of
# instantiated class templates. The limits of operations, steps and class templates were set about a
# sixth above the need, which bench/results/search.md states. Time is not checked.
#
#   --least FILE   does not check, but finds the least evaluator limits with which FILE compiles,
#                  which takes minutes
set -euo pipefail

source_dir="${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}"

# compile <compiler> <file> <option>...: compiles the file without making an object file, and prints
# the compiler's messages.
compile() {
  local compiler="$1" file="$2"
  shift 2
  "$compiler" -std=c++20 -fsyntax-only "-I$source_dir/include" "-I$source_dir/tests" "$@" "$file" 2>&1
}

# limits <gcc|clang> <file>: prints the options that the file names.
limits() { sed -n "s|^// $1: *||p" "$2"; }

# least <compiler> <option> <file> <other option>...: finds the least value of the option with which
# the file compiles, by bisection and within one per cent.
least() {
  local compiler="$1" option="$2" file="$3" low=1000 high=1000000000 middle
  shift 3
  while [ $((high - low)) -gt $((high / 100)) ]; do
    # The limits of different files differ by orders of magnitude. While the interval is wide, the
    # next value is three times its lower end. Later it is the middle of the interval.
    middle=$((high / low > 4 ? low * 3 : (low + high) / 2))
    if compile "$compiler" "$file" "$option=$middle" "$@" >/dev/null; then high=$middle
    else low=$middle; fi
  done
  printf '%s %s %s: %s\n' "$compiler" "$(basename "$file")" "$option" "$high"
}

if [ "${1:-}" = --least ]; then
  least g++ -fconstexpr-ops-limit "$2" -fconstexpr-loop-limit=100000000
  least clang++ -fconstexpr-steps "$2"
  exit
fi

failed=0 tried=0
for file in "$source_dir"/tests/constexpr/*.cpp; do
  name="$(basename "$file")"
  for pair in g++:gcc clang++:clang; do
    command -v "${pair%:*}" >/dev/null || continue
    tried=$((tried + 1))
    read -r -a options < <(limits "${pair#*:}" "$file")
    # -print-stats makes Clang print the number of instantiated templates at the end.
    if [ "${pair#*:}" = clang ]; then options+=(-Xclang -print-stats); fi
    if ! output="$(compile "${pair%:*}" "$file" "${options[@]}")"; then
      printf '%s\n' "$output" | head -n 5
      echo "$name: ${pair%:*} does not compile it with ${options[*]}"
      failed=1
      continue
    fi
    if [ "${pair#*:}" = clang ]; then
      most="$(sed -n 's|^// class templates: *||p' "$file")"
      made="$(printf '%s\n' "$output" | awk '/ClassTemplateSpecialization decls/ {print $1; exit}')"
      if [ -z "$most" ] || [ -z "$made" ]; then
        echo "$name: a limit of class templates (${most:-none}) or their number in Clang's statistics (${made:-none}) is missing"
        failed=1
        continue
      fi
      echo "$name: $made class templates instantiated, at most $most"
      if [ "$made" -gt "$most" ]; then failed=1; fi
    fi
  done
done
[ "$tried" -gt 0 ] || { echo "neither g++ nor clang++"; exit 77; }
exit "$failed"
