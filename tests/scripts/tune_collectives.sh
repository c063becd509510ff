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

# shellcheck source=tests/support/says.sh
. "$ASHLAR_SOURCE_DIR/tests/support/says.sh"

for ranks in 1 2 3 4; do
  says "rows in $work/table$ranks" "$mpiexec" -n "$ranks" "$tune" "$work/table$ranks" 0 24,1KiB,1MiB
  grep -q "on $ranks ranks" "$work/table$ranks"
done
export ASHLAR_SHARED_MEMORY=off
ASHLAR_COLLECTIVES="$work/table4" says "all results right" \
  "$mpiexec" -n 4 "$user" --sizes 4KiB --trials 1 --seconds 0 --cases all-

# A failure must leave the file unchanged.
echo "all-gather 2 0 any tree" >"$work/bad"
refuses "cannot be written" "$mpiexec" -n 2 "$tune" "$work/no/such/folder" 0 1KiB
refuses "not a size" "$mpiexec" -n 2 "$tune" "$work/bad" 0 1cow
grep -q tree "$work/bad"
ASHLAR_COLLECTIVES="$work/bad" refuses "line 1: 'tree' is not an algorithm" \
  "$mpiexec" -n 2 "$user" --sizes 4KiB --trials 1
echo "tables are written, read and refused"
