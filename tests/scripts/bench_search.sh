#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Runs the benchmark of the search briefly and checks the tables that it writes. Its exhaustive
# search must find the same optimum as the exact search. Times are not checked.
set -euo pipefail

program="$ASHLAR_BINARY_DIR/bench/search"
[ -x "$program" ] || { echo "no bench/search was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/support/says.sh
. "$ASHLAR_SOURCE_DIR/tests/support/says.sh"

"$program" --nets alexnet,gpt,dlrm --meshes rack=2,node=2 --runs 2 --seconds 0.02 \
  --csv "$work/table.csv" --curves "$work/curves.csv" >"$work/output"
[ "$(wc -l <"$work/table.csv")" -eq 16 ] || { cat "$work/table.csv"; exit 1; }
[ "$(wc -l <"$work/curves.csv")" -ge 16 ] || { cat "$work/curves.csv"; exit 1; }
# No cost may be below the optimum.
awk -F, 'NR > 1 && ($5 < 1 - 1e-9 || $6 < 1 - 1e-9) {print; bad = 1} END {exit bad}' "$work/curves.csv"

"$program" --nets dense --meshes node=4 --runs 1 --seconds 60 >"$work/output"
grep 'exhaustive.* 1 of 1 .*tried all' "$work/output" >/dev/null || { cat "$work/output"; exit 1; }

# With --noise, the benchmark plans for machines that were measured wrongly. For both nets there
# must be rows for three kinds of errors, and no plan may be cheaper than the optimum.
"$program" --nets dense,dlrm --meshes node=4 --noise 5 --csv "$work/noise.csv" >"$work/output"
awk -F, 'NR > 1 {++rows; if ($7 < 0 || $10 < $9 || $6 != 5) bad = 1} END {exit bad || rows != 6}' \
  "$work/noise.csv" || { cat "$work/noise.csv"; exit 1; }

refuses 'no net "resnet". Use: alexnet' "$program" --nets resnet
refuses 'no preset "abacus"' "$program" --machine abacus
refuses 'runs: ' "$program" --runs 0
echo "bench/search runs, enumeration agrees"
