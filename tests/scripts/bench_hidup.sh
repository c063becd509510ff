#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Runs the benchmark of HiDup's tables on a few nets and clusters and checks the tables that it
# writes. No other plan may be faster than the searched plan. Times of searches are not checked.
set -euo pipefail

program="$ASHLAR_BINARY_DIR/bench/hidup"
[ -x "$program" ] || { echo "no bench/hidup was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$program" --quick --parts nets,one_axis,search_time --folder "$work" >"$work/output"
[ "$(wc -l <"$work/nets.csv")" -eq 5 ] || { cat "$work/nets.csv"; exit 1; }
# The numbers of parameters are those of the paper's table 1.
awk -F, 'NR > 1 {
  wanted = $1 ~ /bert/ ? "89 19" : "38 38"
  if (sprintf("%.0f %.0f", $3, $4) != wanted) { print; bad = 1 }
} END { exit bad }' "$work/nets.csv"
[ "$(wc -l <"$work/one_axis.csv")" -eq 5 ] || { cat "$work/one_axis.csv"; exit 1; }
awk -F, 'NR > 1 && ($6 > $10 + 1e-4 || $6 > $12 + 1e-4 || $6 > $13 + 1e-4) { print; bad = 1 } END { exit bad }' \
  "$work/one_axis.csv"
[ "$(wc -l <"$work/search_time.csv")" -eq 3 ] || { cat "$work/search_time.csv"; exit 1; }

if "$program" --parts figures >"$work/output" 2>&1; then
  echo "an unknown part did not fail"
  exit 1
fi
grep -q 'there is no part "figures"' "$work/output" || { cat "$work/output"; exit 1; }
echo "bench/hidup runs, no plan is faster than the searched one"
