#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains with one seed for 20 steps. The loss of every step must agree within a relative difference
# of 1e-4 on 1, 2, 3, 4, 6 and 8 ranks, with the data, tensor and searched layouts and with two
# hand-written plans.
# Pipelines must have the same losses as one rank under all schedules. A pipeline must also write
# the same sample text as one rank, although only the single rank uses a cache of keys and values.
# train_gpt must accept plans that examples/plan writes. A small Llama must have the same losses on
# 1, 2 and 4 ranks.
program=train_gpt steps=20
training=(--layers 2 --d-model 36 --heads 6 --context 16 --batch 6 --text "$ASHLAR_SOURCE_DIR/LICENSE")
# shellcheck source=tests/support/losses.sh
. "$ASHLAR_SOURCE_DIR/tests/support/losses.sh"

awk 'NR == 1 {first = $3} END {if (!($3 < first)) {print "the loss did not fall"; exit 1}}' \
  "$work/reference"

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

# Pipelines with four micro-batches.
training=(--layers 8 --d-model 36 --heads 6 --context 16 --batch 6 --micro-batches 4
  --text "$ASHLAR_SOURCE_DIR/LICENSE")
steps=4
losses 1 gpu=1 data
cp "$work/losses" "$work/reference"
plain=("${training[@]}")
for schedule in gpipe 1f1b eager interleaved:2 zb_h1 zb_h2 delayed; do
  training=("${plain[@]}" --pipeline 2 --schedule "$schedule")
  compare 2 gpu=2 auto
  compare 4 node=2,gpu=2 auto
done
training=("${plain[@]}" --pipeline 2 --schedule zb_v)
compare 2 gpu=2 auto
# dual_pipe_v needs at least two micro-batches for each part.
training=("${plain[@]}" --pipeline 2 --schedule dual_pipe_v)
compare 4 node=2,gpu=2 auto
training=("${plain[@]}" --pipeline auto)
compare 4 node=2,gpu=2 auto
# Here the search divides the 24 sequences of a step into micro-batches, and the net into stages. A
# step above has as many sequences, in four micro-batches of 6.
whole=(--layers 8 --d-model 36 --heads 6 --context 16 --batch 24 --text "$ASHLAR_SOURCE_DIR/LICENSE"
  --machine gpu_cluster)
for stages in 2 auto; do
  training=("${whole[@]}" --pipeline "$stages" --schedule auto)
  compare 2 node=2 auto
  compare 4 node=2,gpu=2 auto
done
training=("${plain[@]}" --pipeline 2 --save-layout "$work/stages.json")
compare 2 gpu=2 data
printf '0: F0 F1 F2 B0 B1 F3 B2 B3\n1: F0 B0 F1 B1 F2 B2 F3 B3\n' >"$work/schedule"
training=("${plain[@]}" --pipeline "$work/stages.json" --schedule "$work/schedule")
compare 2 gpu=2

# examples/plan writes plans for the same nets, without and with stages.
plan() {  # <model> <option>...: writes a plan to $work/plan.json
  "$ASHLAR_BINARY_DIR/examples/plan" "$@" --as-trained --layers 8 --d-model 36 --heads 6 --context 16 \
    --vocabulary 256 --batch 6 --micro-batches 4 --mesh gpu=2 --machine workstation --quiet \
    --out "$work/plan.json" >/dev/null
}
plan gpt
training=("${plain[@]}")
compare 2 gpu=2 "$work/plan.json"
plan gpt --stages 2
training=("${plain[@]}" --pipeline "$work/plan.json")
compare 2 gpu=2
plan gpt --tied
training=("${plain[@]}" --tied)
losses 2 gpu=2 "$work/plan.json"
plan gpt-moe --experts 4
training=("${plain[@]}" --experts 4)
losses 2 gpu=2 "$work/plan.json"

sample() {  # <ranks> <option>...: prints the sample text
  "$mpiexec" -n "$1" "$program" "${plain[@]}" --steps 2 --sample 40 "${@:2}" >"$work/log"
  sed '1,/^---- a sample/d' "$work/log"
}
without_cache() { grep -q 'The sample is generated without a cache: .* pipeline stages' "$work/log"; }
sample 1 >"$work/text"
if without_cache; then echo "one rank does not use the cache of keys and values"; exit 1; fi
for ranks in 2 4; do
  [ "$ranks" -le "${ASHLAR_TEST_MAX_RANKS:-8}" ] || continue
  sample "$ranks" --pipeline "$ranks" >"$work/staged"
  without_cache || { echo "$ranks stages do not say that they use no cache"; exit 1; }
  cmp "$work/text" "$work/staged" || { echo "$ranks stages write another text"; exit 1; }
done

# A small Llama, in which two heads of keys serve six heads of queries.
training=(--model llama-small --layers 2 --d-model 36 --heads 6 --kv-heads 2 --context 16 --batch 6
  --text "$ASHLAR_SOURCE_DIR/LICENSE")
steps=10
losses 1 gpu=1 data
cp "$work/losses" "$work/reference"
compare 2 gpu=2 tensor
compare 4 node=2,gpu=2 auto
