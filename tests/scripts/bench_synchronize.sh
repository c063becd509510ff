#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Runs the benchmark of synchronizations with one model on two clusters and checks the tables that
# it writes. No builder of strategies may be faster than the strategies that sync::optimal chooses,
# and no random strategy may be faster by more than 2 %. Times of searches are not checked. After
# tuning by trials, the corrected ranking must order at least 85 % of the pairs of strategies right.
set -euo pipefail

program="$ASHLAR_BINARY_DIR/bench/synchronize"
[ -x "$program" ] || { echo "no bench/synchronize was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$program" --models ncf --clusters A2,B1 --samples 5 --folder "$work" >"$work/output"
[ "$(wc -l <"$work/choice.csv")" -eq 3 ] || { cat "$work/choice.csv"; exit 1; }
awk -F, '
  NR == 1 { for (i = 1; i <= NF; ++i) c[$i] = i; next }
  $c["optimal"] > $c["builder_seconds"] || $c["optimal"] > 1.02 * $c["sampled"] { print; bad = 1 }
  END { exit bad }' "$work/choice.csv"
[ "$(wc -l <"$work/routes.csv")" -eq 3 ] || { cat "$work/routes.csv"; exit 1; }

"$program" --ranking --models ncf --clusters A2 --folder "$work" >"$work/output"
[ "$(wc -l <"$work/ranking.csv")" -eq 3 ] || { cat "$work/ranking.csv"; exit 1; }
awk -F, '
  NR == 1 { for (i = 1; i <= NF; ++i) c[$i] = i; next }
  $c["pairs"] < 1 || $c["corrected"] < 85 { print "the corrected ranking is below 85 %: " $0; bad = 1 }
  END { exit bad }' "$work/ranking.csv"
if "$program" --transfer --models ncf --clusters A2 >"$work/output" 2>&1; then
  echo "a transfer without a second cluster did not fail"
  exit 1
fi
grep -q 'needs two clusters' "$work/output" || { cat "$work/output"; exit 1; }

if "$program" --models cows >"$work/output" 2>&1; then
  echo "an unknown model did not fail"
  exit 1
fi
grep -q 'there is no model "cows"' "$work/output" || { cat "$work/output"; exit 1; }
if "$program" --models ncf --clusters A2 --samples 0 >"$work/output" 2>&1; then
  echo "no samples did not fail"
  exit 1
fi
echo "bench/synchronize runs: no builder is faster than optimal, and no sample by more than 2 %"
