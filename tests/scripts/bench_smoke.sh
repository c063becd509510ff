#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the benchmarks of data movement at tiny sizes on 2, 4 and 8 ranks. They must confirm that
# every result is right, and write their tables. The microbenchmarks run only if Google Benchmark is
# installed. They must print one report, and not one for each rank. Times are not checked.
set -euo pipefail

mpiexec="${ASHLAR_MPIEXEC:-mpirun}"

for name in redistribute matmul; do
  [ -x "$ASHLAR_BINARY_DIR/bench/$name" ] || { echo "no bench/$name was built"; exit 77; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/support/says.sh
. "$ASHLAR_SOURCE_DIR/tests/support/says.sh"

# runs <text> <ranks> <program> <argument>...: demands that the program succeeds and prints the
# text.
runs() {
  says "$1" "$mpiexec" -n "$2" "$ASHLAR_BINARY_DIR/bench/$3" "${@:4}" ||
    { cat "$work/output"; exit 1; }
}
refuses_ranks() {  # <text> <ranks> <program> <argument>...
  refuses "$1" "$mpiexec" -n "$2" "$ASHLAR_BINARY_DIR/bench/$3" "${@:4}"
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

runs "step beside" 2 checkpoint --size 1MB --rounds 2 --folder "$work/checkpoints"
runs "turns of each measurement" 2 checkpoint --help
[ "$(grep -c -- '--rounds' "$work/output")" = 1 ] || { echo "checkpoint: more than one help"; exit 1; }
refuses_ranks "is not a size" 2 checkpoint --size big
refuses_ranks "not a size" 2 redistribute --sizes 9000000000GiB
refuses_ranks "not a size" 2 redistribute --sizes 3cows
refuses_ranks "powers of two" 2 redistribute --sizes 5000
refuses_ranks "2, 4 and 8 ranks" 3 redistribute
refuses_ranks "no case has this name" 2 redistribute --cases nonsense
refuses_ranks "not a shape" 2 matmul --shapes 12x

# The microbenchmarks must print a single JSON report, from rank 0, measure each kind of step, and
# also run on one rank without mpirun.
micro=', but not bench/micro: it is not built'
if [ -x "$ASHLAR_BINARY_DIR/bench/micro" ]; then
  micro=''
  micro() { # <ranks> <argument>...: runs the microbenchmarks
    local ranks="$1"
    shift
    "$mpiexec" -n "$ranks" "$ASHLAR_BINARY_DIR/bench/micro" --benchmark_min_time=0.001 "$@" 2>"$work/errors"
  }
  fails() { cat "$work/errors" "$work/report.json"; echo "micro: $1"; exit 1; }
  once() { # <text> <file>: demands that exactly one line of the file contains the text
    [ "$(grep -c -- "$1" "$2")" = 1 ] || fails "not once in $2: $1"
  }

  micro 4 '--benchmark_filter=step/.*bytes:4096/' --benchmark_format=json >"$work/report.json" || fails "fails"
  for text in '"context": {' '"benchmarks": \['; do once "$text" "$work/report.json"; done
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load(sys.stdin)' <"$work/report.json" || fails "no valid JSON"
  fi
  for kind in all_gather reduce_scatter all_reduce all_to_all permute slice zero_pad; do
    grep -q "\"name\": \"step/$kind/" "$work/report.json" || fails "no $kind"
  done
  grep -q '"busbw"' "$work/report.json" || fails "no bus bandwidth"

  some='kernel/.*n:64/|plan/.*(lookup|axes:2)|layer/.*(features:256|size:32)|m:512/|order:64/|dim:./n:256/|search/gpt/rack'
  micro 2 --benchmark_filter="$some" --benchmark_color=false --benchmark_out="$work/report.json" >"$work/output" || fails "fails"
  for family in kernel plan layer product reduction search; do
    grep -q "\"name\": \"$family/" "$work/report.json" || fails "no $family"
    grep -q "^$family/" "$work/output" || fails "no $family on the console"
  done
  "$ASHLAR_BINARY_DIR/bench/micro" --benchmark_list_tests >"$work/output" 2>"$work/errors" || fails "alone"
  grep -q "^step/all_gather/.*/ranks:1/" "$work/output" || fails "alone: no all_gather"

  if micro 2 --cows >"$work/output"; then fails "--cows: did not fail"; fi
  once "unrecognized command-line flag: --cows" "$work/errors"
  if micro 2 --benchmark_filter=cows >"$work/output"; then fails "no benchmark: did not fail"; fi
  micro 2 --help >"$work/output" || fails "--help"
  once "benchmark_filter=<regex>" "$work/output"
fi
echo "benchmarks run$micro"
