#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Checks the form of source files. Each header, including CUDA headers (.cuh), has at most 400
# lines, two SPDX lines and #pragma once. Each .cu has at most 400 lines and the SPDX lines. All C++
# and CUDA files are formatted with .clang-format. Their comment lines have at most 100 columns,
# except in tables. A file of tests/compile_fail expects each message that a header defines as
# ASHLAR_SAYS_...
set -euo pipefail

cd -- "${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}"
status=0
complain() {
  printf '%s: %s\n' "$1" "$2"
  status=1
}

# sources <find-expression>...: prints matching files of the existing folders, separated by NUL.
sources() {
  local folder folders=()
  for folder in include examples tests bench; do
    if [ -d "$folder" ]; then folders+=("$folder"); fi
  done
  find "${folders[@]}" -type f "$@" -print0 | sort -z
}

spdx_1='// SPDX-FileCopyrightText: 2026 the ashlar authors'
spdx_2='// SPDX-License-Identifier: Apache-2.0'
while IFS= read -r -d '' file; do
  { read -r first && read -r second; } <"$file" || true
  [ "${first:-}" = "$spdx_1" ] || complain "$file" "line 1 is not: $spdx_1"
  [ "${second:-}" = "$spdx_2" ] || complain "$file" "line 2 is not: $spdx_2"
  [[ "$file" == *.cu ]] || grep -qx '#pragma once' "$file" || complain "$file" "has no #pragma once"
  lines=$(wc -l <"$file")
  [ "$lines" -le 400 ] || complain "$file" "$lines lines; split at 400"
done < <(sources \( -name '*.hpp' -o -name '*.cuh' -o -name '*.cu' \))

while IFS=: read -r file line _; do
  complain "$file" "line $line: a comment of more than 100 columns"
done < <(sources \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \) |
  LC_ALL=C.UTF-8 xargs -0 grep -nE '^.{101}' /dev/null | grep -E '^[^:]*:[0-9]+: *//' |
  grep -vE '// expect( pattern)?: |//.*   .*   ')

# A message is recognized by the beginning of its longest part between parameters. The beginning has
# at least 20 characters, and as many more as it takes to differ from all other messages.
mapfile -t headers < <(grep -rl '^#define ASHLAR_SAYS_' include)
if [ "${#headers[@]}" -gt 0 ]; then
  while IFS= read -r name; do
    complain "$name" "no file of tests/compile_fail expects this message"
  done < <(perl -0777 -ne '
    if ($ARGV =~ /\.cpp$/) {
      $expected .= "$_\n" for /^\/\/ expect: (.*)$/mg;
      next;
    }
    s/\\\n/ /g;   # one line for each macro
    s/"\s+"//g;   # one literal for each part
    while (/^#define (ASHLAR_SAYS_\w+)(?:\([^)]*\))? (.*)$/mg) {
      my ($name, $value) = ($1, $2);
      next if $value =~ /^\s*ASHLAR_SAYS_/;  # made of another message
      my @parts = map { s/\\"/"/gr } $value =~ /"((?:[^"\\]|\\.)*)"/g;
      ($part{$name}) = sort { length $b <=> length $a } @parts;
    }
    END {
      for my $name (sort keys %part) {
        my @others = map { $part{$_} } grep { $_ ne $name } keys %part;
        my $size = 20;
        ++$size while $size < length $part{$name} and
          grep { index($_, substr $part{$name}, 0, $size) >= 0 } @others;
        print "$name\n" if index($expected, substr $part{$name}, 0, $size) < 0;
      }
    }' "${headers[@]}" tests/compile_fail/*.cpp)
fi

# Other versions of clang-format format differently, so only version 16 is used.
formatter=
for candidate in clang-format-16 clang-format; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 16\.'; then
    formatter=$candidate
    break
  fi
done
if [ -n "$formatter" ]; then
  # All files are checked in one call, because starting the formatter takes most of the time. Only
  # if that fails are they checked one by one.
  mapfile -d '' -t files < <(sources \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \))
  if ! "$formatter" --style=file --dry-run --Werror "${files[@]}" >/dev/null 2>&1; then
    for file in "${files[@]}"; do
      "$formatter" --style=file --dry-run --Werror "$file" >/dev/null 2>&1 ||
        complain "$file" "not formatted: $formatter -i $file"
    done
  fi
elif [ "$status" -eq 0 ]; then
  echo "clang-format 16 not found: formatting not checked"
  exit 77
fi
exit "$status"
