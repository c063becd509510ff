#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests train_vgg with one seed. The loss of every step must agree within a relative difference of
# 1e-4 on 1, 2, 3 and 4 ranks with the data, tensor and searched layouts. The loss must fall in a
# longer training. The program must classify new images and refuse wrong input.
program=train_vgg steps=8
training=(--width 3 --hidden 10 --batch 7 --samples 0)
# shellcheck source=tests/support/losses.sh
. "$ASHLAR_SOURCE_DIR/tests/support/losses.sh"

for layout in data tensor auto; do
  compare 2 gpu=2 "$layout"
  compare 3 gpu=3 "$layout"
  compare 4 node=2,gpu=2 "$layout"
done

ranks=4
[ "$ranks" -le "${ASHLAR_TEST_MAX_RANKS:-8}" ] || ranks=2
"$mpiexec" -n "$ranks" "$program" --width 6 --hidden 32 --batch 32 --steps 60 --every 1 --samples 64 \
  >"$work/out"
grep '^step' "$work/out" | awk '
  {loss[NR] = $4}
  END {
    for (i = 1; i <= 10; ++i) {first += loss[i]; last += loss[NR - 10 + i]}
    printf "mean loss of the first ten steps %.3f, of the last %.3f\n", first / 10, last / 10
    exit !(NR == 60 && last < 0.8 * first)
  }'
grep 'accuracy on new images' "$work/out"

refused() {  # <sentence> <option>...: the program must fail and print the sentence
  local sentence="$1" status=0
  shift
  timeout 60 "$mpiexec" -n 2 "$program" "$@" >"$work/refused" 2>&1 || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || ! grep -qF -- "$sentence" "$work/refused"; then
    echo "FAILED: $* (exit $status): expected \"$sentence\" in"
    cat "$work/refused"
    exit 1
  fi
}
refused "--image" --image 31
refused "best cannot be read" --layout best
refused "has 3 ranks but the program runs on 2" --mesh gpu=3
