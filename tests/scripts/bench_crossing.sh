#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Runs the benchmark of crossings briefly and checks its tables. The orders that the library finds
# must reach the lower bound in all cases of the paper's table 2 and in at least half of the random
# problems, and must always be less than 2 % above it. They must never be longer than the shortest
# order of whole tasks. Times are not checked.
set -euo pipefail

program="$ASHLAR_BINARY_DIR/bench/crossing"
[ -x "$program" ] || { echo "no bench/crossing was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$program" --large 2 --csv "$work/orders.csv" --plans "$work/plans.csv" >"$work/output"
grep -q 'ours is longer than the shortest order of whole tasks in 0,' "$work/output" ||
  { cat "$work/output"; exit 1; }
awk -F, '
  NR == 1 { if ($0 != "set,algorithm,problems,without_gap,gap,worst_gap,ms,worst_ms") exit bad = 1 }
  $2 == "ours" { ++ours; if ($6 >= ($1 == "table 2" ? 1e-9 : 2) || $5 > 0) bad = 1 }
  END { exit bad || ours != 4 }' "$work/orders.csv" || { cat "$work/orders.csv"; exit 1; }
[ "$(wc -l <"$work/plans.csv")" -eq 7 ] || { cat "$work/plans.csv"; exit 1; }

if "$program" --large 0 >"$work/output" 2>&1; then echo "--large 0: did not fail"; exit 1; fi
grep -q -- "--large" "$work/output" || { cat "$work/output"; exit 1; }
echo "bench/crossing runs, no order of all is shorter than ours"
