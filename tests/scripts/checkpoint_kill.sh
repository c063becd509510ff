#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
#
# Kills a training on 4 ranks at random moments and resumes it, again and again. Every loss must
# have the same digits as in an undisturbed training, whatever the killed runs left in the folder.
# The environment variable ASHLAR_KILLS sets the number of kills (default 6).
set -uo pipefail

program="$ASHLAR_BINARY_DIR/examples/train_gpt"
[ -x "$program" ] || { echo "no train_gpt was built"; exit 77; }
mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
steps=400 kills="${ASHLAR_KILLS:-6}"
train=("$mpiexec" -n 4 "$program" --mesh "node=2,gpu=2" --layers 2 --d-model 36 --heads 6
  --context 16 --batch 6 --text "$ASHLAR_SOURCE_DIR/LICENSE" --steps "$steps" --exact-log)

"${train[@]}" >"$work/reference" 2>"$work/err" || { cat "$work/reference" "$work/err"; exit 1; }

# refuse_status <status> <output>: a training that nobody killed must end without an error.
refuse_status() {
  [ "$1" -ne 0 ] || return 0
  echo "FAILED: a resumed training ends with status $1:"
  cat "$2" "$work/err"
  exit 1
}

# check <output>: each line with a loss must be in the reference, and there must be no message about
# checkpoints, because only errors print one.
check() {
  if grep -q "checkpoint" "$1" "$work/err"; then
    echo "FAILED: a resumed training ends with an error:"
    cat "$1" "$work/err"
    exit 1
  fi
  # The last line may be cut off by the kill.
  sed '$d' "$1" | grep '^loss' | grep -vxFf "$work/reference" >"$work/other"
  if [ -s "$work/other" ]; then
    echo "FAILED: these losses differ from those of the undisturbed training:"
    cat "$work/other"
    exit 1
  fi
}

folder="$work/run" resumed=0 finished=0
for ((kill = 1; kill <= kills; ++kill)); do
  stdbuf -oL "${train[@]}" --checkpoint "$folder" --every-steps 3 --resume >"$work/out" 2>"$work/err" &
  job=$!
  # The moments of the kills range from the start of the ranks to beyond the end of the training.
  sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
  sleep $((RANDOM % 2))
  # pkill fails if there is no rank to kill, since the training has ended or not yet begun.
  killed=1
  pkill -KILL -f -- "^$program .*--checkpoint $folder" 2>/dev/null || killed=0
  wait "$job" 2>/dev/null
  status=$?
  check "$work/out"
  [ "$killed" -eq 1 ] || refuse_status "$status" "$work/out"
  grep -q '^continuing after' "$work/out" && resumed=$((resumed + 1))
  if grep -q "^loss\[$((steps - 1))\]" "$work/out"; then
    finished=$((finished + 1))
    rm -rf "$folder" # the next run begins a new training
  fi
done

"${train[@]}" --checkpoint "$folder" --every-steps 3 --resume >"$work/out" 2>"$work/err"
refuse_status $? "$work/out"
check "$work/out"
grep -q '^continuing after' "$work/out" && resumed=$((resumed + 1))
# The last line is the end of the text that the trained net generates.
[ "$(tail -n 1 "$work/out")" = "$(tail -n 1 "$work/reference")" ] ||
  { echo "FAILED: the last line differs"; tail -n 3 "$work/out" "$work/reference"; exit 1; }
if [ "$resumed" -eq 0 ]; then
  echo "FAILED: no training was resumed, so nothing was tested"
  exit 1
fi
indexes="$(find "$folder" -name 'step-*.json' | wc -l)" folders="$(find "$folder" -name 'step-*.[0-9]*' -type d | wc -l)"
if [ "$indexes" -ne 2 ] || [ "$folders" -ne 2 ]; then
  echo "FAILED: $indexes indexes and $folders folders are left, not 2"
  ls -R "$folder"
  exit 1
fi
echo "$kills kills, $resumed times resumed, $finished trainings finished: all losses as undisturbed"
