#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests bench/tune_collectives. It must confirm that all algorithms give right results, and write a
# table that a program can use. If tune_collectives fails, it must leave the file unchanged. Times
# are not checked.
set -euo pipefail

mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
tune="$ASHLAR_BINARY_DIR/bench/tune_collectives"
user="$ASHLAR_BINARY_DIR/bench/redistribute"
for program in "$tune" "$user"; do
  [ -x "$program" ] || { echo "no $program was built"; exit 77; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# says <text> <command>...: demands that the output contains the text, and returns the command's
# exit status.
says() {
  local text="$1" status=0
  shift
  "$@" >"$work/output" 2>&1 || status=$?
  grep -q "$text" "$work/output" || { cat "$work/output"; echo "not in the output: $text"; exit 1; }
  return "$status"
}

for ranks in 1 2 3 4; do
  says "rows in $work/table$ranks" "$mpiexec" -n "$ranks" "$tune" "$work/table$ranks" 0 24,1KiB,1MiB
  grep -q "on $ranks ranks" "$work/table$ranks"
done
export ASHLAR_SHARED_MEMORY=off
ASHLAR_COLLECTIVES="$work/table4" says "all results right" \
  "$mpiexec" -n 4 "$user" --sizes 4KiB --trials 1 --seconds 0 --cases all-

# A failure must leave the file unchanged.
echo "all-gather 2 0 any tree" >"$work/bad"
if says "cannot be written" "$mpiexec" -n 2 "$tune" "$work/no/such/folder" 0 1KiB; then exit 1; fi
if says "not a size" "$mpiexec" -n 2 "$tune" "$work/bad" 0 1cow; then exit 1; fi
grep -q tree "$work/bad"
if ASHLAR_COLLECTIVES="$work/bad" says "line 1: 'tree' is not an algorithm" \
  "$mpiexec" -n 2 "$user" --sizes 4KiB --trials 1; then exit 1; fi
echo "tables are written, read and refused"
