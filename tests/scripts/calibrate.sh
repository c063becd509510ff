#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests bench/calibrate. It must confirm that all collectives give right results, fit α and β to
# their times, and write a machine file that programs can read. Times are not checked.
set -euo pipefail

mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
calibrate="$ASHLAR_BINARY_DIR/bench/calibrate"
[ -x "$calibrate" ] || { echo "no $calibrate was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
brief=(--trials 1 --seconds 0 --largest-product 64 --cold 256KiB)
small=(--sizes '4KiB,32KiB' "${brief[@]}")
# shellcheck source=tests/support/says.sh
. "$ASHLAR_SOURCE_DIR/tests/support/says.sh"

for memory in default off; do
  if [ "$memory" = off ]; then export ASHLAR_SHARED_MEMORY=off; fi
  for ranks in 2 3 4; do
    says "saved $work/$ranks.json" "$mpiexec" -n "$ranks" "$calibrate" "${small[@]}" \
      --out "$work/$ranks.json" --csv "$work/$ranks.csv"
    for kind in all-gather reduce-scatter all-reduce all-to-all; do
      grep -q "^intra *$kind" "$work/output"
      grep -q "\"$kind\"" "$work/$ranks.json"
    done
    grep -q "$ranks ranks" "$work/$ranks.json"
    [ "$(wc -l <"$work/$ranks.csv")" -ge 15 ]
  done
done
unset ASHLAR_SHARED_MEMORY
grep -q '"permute"' "$work/4.json"  # a mesh of 2 x 2
if grep -q '"permute"' "$work/3.json"; then exit 1; fi

# Four ranks are treated as two nodes: α and β are fitted within and between nodes, and the times of
# collectives that use both kinds of links are predicted.
says "predicted, not fitted" "$mpiexec" -n 4 "$calibrate" "${small[@]}" --ranks-per-node 2
grep -q "^inter *all-to-all" "$work/output"
grep -q "^both *all-reduce" "$work/output"
says "One rank per node" "$mpiexec" -n 2 "$calibrate" "${small[@]}" --ranks-per-node 1

# An example program must be able to read the file.
train="$ASHLAR_BINARY_DIR/examples/train_gpt"
if [ -x "$train" ]; then
  says "loss" "$mpiexec" -n 2 "$train" --layers 1 --d-model 16 --heads 2 --context 8 --batch 2 \
    --steps 1 --sample 0 --machine "$work/2.json"
fi

refuses_ranks() {  # <text> <ranks> <argument>...
  refuses "$1" "$mpiexec" -n "$2" "$calibrate" "${@:3}"
}
refuses_ranks "one rank cannot communicate" 1 "${small[@]}"
refuses_ranks "does not determine alpha and beta" 2 "${brief[@]}" --sizes 4KiB
refuses_ranks "does not determine alpha and beta" 2 "${brief[@]}" --sizes 4KiB,4096
refuses_ranks "not a size" 2 "${brief[@]}" --sizes 4KiB,1cow
refuses_ranks "not a size" 2 "${small[@]}" --memory lots
refuses_ranks "does not divide" 4 "${small[@]}" --ranks-per-node 3
refuses_ranks "there is no folder" 2 "${small[@]}" --out "$work/no/such/machine.json"
refuses_ranks "--largest-product" 2 "${small[@]}" --largest-product 8
echo "machines are measured, written and read"
