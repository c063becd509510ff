#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# The benchmarks of data movement run at tiny sizes on 2, 4 and 8 ranks, find every result right and
# write their tables. Times are not checked.
set -euo pipefail

mpiexec="${ASHLAR_MPIEXEC:-mpirun}"

for name in redistribute matmul; do
  [ -x "$ASHLAR_BINARY_DIR/bench/$name" ] || { echo "no bench/$name was built"; exit 77; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# runs <text> <ranks> <program> <argument>...: demands that the output contains the text.
runs() {
  local text="$1" ranks="$2" program="$ASHLAR_BINARY_DIR/bench/$3"
  shift 3
  "$mpiexec" -n "$ranks" "$program" "$@" >"$work/output" 2>&1 || { cat "$work/output"; exit 1; }
  grep -q "$text" "$work/output" || { cat "$work/output"; echo "not in the output: $text"; exit 1; }
}

# refuses <text> <ranks> <program> <argument>...: demands a failure that prints the text.
refuses() {
  local text="$1" ranks="$2" program="$ASHLAR_BINARY_DIR/bench/$3"
  shift 3
  if "$mpiexec" -n "$ranks" "$program" "$@" >"$work/output" 2>&1; then
    echo "$*: did not fail"
    exit 1
  fi
  grep -q "$text" "$work/output" || { cat "$work/output"; echo "not in the output: $text"; exit 1; }
}

for memory in default off; do
  if [ "$memory" = off ]; then export ASHLAR_SHARED_MEMORY=off; fi
  for ranks in 2 4 8; do
    runs "all results right" "$ranks" redistribute --sizes 4KiB,32KiB --trials 1 --seconds 0 \
      --csv "$work/redistribute.csv"
    runs "all results right" "$ranks" matmul --shapes 96x64x80 --trials 1 --csv "$work/matmul.csv"
  done
done
lines() { wc -l <"$1"; }
[ "$(lines "$work/redistribute.csv")" -gt 200 ] || { echo "redistribute.csv is short"; exit 1; }
[ "$(lines "$work/matmul.csv")" -ge 7 ] || { echo "matmul.csv is short"; exit 1; }

# The received bytes must equal those of the best grid, which are computed without the library.
for ranks in 2 4 8; do
  runs "bytes equal to the best grid: 2 of 2" "$ranks" matmul --shapes 96x64x80,64x64x512 --bytes
done

refuses "not a size" 2 redistribute --sizes 3cows
refuses "powers of two" 2 redistribute --sizes 5000
refuses "2, 4 and 8 ranks" 3 redistribute
refuses "no case has this name" 2 redistribute --cases nonsense
refuses "not a shape" 2 matmul --shapes 12x
echo "benchmarks run, results right"
