#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# One seed, 20 steps: the loss of every step is the same to 1e-4 on 1, 2, 3, 4, 6 and 8 ranks, with
# the data, tensor and searched layouts and with two plans written by hand.
set -euo pipefail

mpiexec="${ASHLAR_MPIEXEC:-mpirun}"

program="$ASHLAR_BINARY_DIR/examples/train_gpt"
[ -x "$program" ] || { echo "no train_gpt was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

run() {  # ranks mesh layout
  "$mpiexec" -n "$1" "$program" --layers 2 --d-model 36 --heads 6 --context 16 --batch 6 --steps 20 \
    --exact-log --text "$ASHLAR_SOURCE_DIR/LICENSE" --mesh "$2" --layout "$3" |
    grep '^loss' >"$work/losses"
  [ "$(wc -l <"$work/losses")" -eq 20 ] || { echo "$2 $3: not 20 losses"; exit 1; }
}

run 1 gpu=1 data
cp "$work/losses" "$work/reference"
awk 'NR == 1 {first = $3} END {if (!($3 < first)) {print "the loss did not fall"; exit 1}}' \
  "$work/reference"

compare() {
  [ "$1" -le "${ASHLAR_TEST_MAX_RANKS:-8}" ] || return 0
  run "$@"
  paste "$work/reference" "$work/losses" | awk -v what="$*" '
    {d = ($6 - $3) / $3; if (d < 0) d = -d; if (d > worst) worst = d}
    END {
      printf "%-55s largest relative difference %.1e\n", what, worst
      exit !(NR == 20 && worst < 1e-4)
    }'
}

for layout in data tensor auto; do
  compare 1 gpu=1 "$layout"
  compare 2 gpu=2 "$layout"
  compare 3 gpu=3 "$layout"
  compare 4 node=2,gpu=2 "$layout"
  compare 6 node=3,gpu=2 "$layout"
  compare 8 rack=2,node=2,gpu=2 "$layout"
done
compare 4 node=2,gpu=2 "$ASHLAR_SOURCE_DIR/tests/plans/gpt_2x2.json"
compare 8 rack=2,node=2,gpu=2 "$ASHLAR_SOURCE_DIR/tests/plans/gpt_2x2x2.json"
