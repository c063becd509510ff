#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Tests train_gpt with wrong input. For each wrong input, the program must soon end with a non-zero
# exit status and print its error message once.
set -uo pipefail

program="$ASHLAR_BINARY_DIR/examples/train_gpt"
[ -x "$program" ] || { echo "no train_gpt was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
plans="$ASHLAR_SOURCE_DIR/tests/plans"
net=(--layers 2 --d-model 36 --heads 6 --context 16 --batch 6)
failed=0

refused() {  # <sentence> <option>...: the program must fail and print the sentence once
  local sentence="$1" status=0
  shift
  timeout 60 "${ASHLAR_MPIEXEC:-mpirun}" -n 4 "$program" "$@" >"$work/out" 2>&1 || status=$?
  local times
  times="$(grep -cF -- "$sentence" "$work/out")"
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || [ "$times" -ne 1 ]; then
    echo "FAILED: $* (exit $status, sentence seen $times times): expected \"$sentence\" in"
    cat "$work/out"
    failed=1
  else
    echo "refused: $(grep -F -- "$sentence" "$work/out" | cut -c1-200)"
  fi
}

sed 's/\[S(0),B\]/[S(0),X]/' "$plans/gpt_2x2.json" >"$work/malformed.json"
sed 's/"version": 1/"version": 99/' "$plans/gpt_2x2.json" >"$work/version.json"
sed '0,/"y": "\[S(0),P\]"/s//"y": "[S(0),B]"/' "$plans/gpt_2x2.json" >"$work/illegal.json"
head -c 500 "$plans/gpt_2x2.json" >"$work/cut.json"
printf 'too short' >"$work/short.txt"

refused "has 6 ranks but the program runs on 4" --mesh node=2,gpu=3
refused "an axis lacks its name or '='" --mesh node=2,gpu
refused "two axes have the same name" --mesh gpu=2,gpu=2
refused "an extent is not a number" --mesh gpu=0
refused "nowhere.json cannot be read" --layout nowhere.json
refused "is not JSON" "${net[@]}" --mesh node=2,gpu=2 --layout "$work/cut.json"
refused "S, B, P or O was expected" "${net[@]}" --mesh node=2,gpu=2 --layout "$work/malformed.json"
refused "this program reads versions 1 to 10" "${net[@]}" --mesh node=2,gpu=2 --layout "$work/version.json"
for option in --top --balance --balance-over --imbalance; do
  refused "$option: is for nets with experts" "$option" 2
done
refused "no row of the layer's rule table" "${net[@]}" --mesh node=2,gpu=2 --layout "$work/illegal.json"
refused "the plan is for node=2,gpu=2" "${net[@]}" --mesh a=2,b=2 --layout "$plans/gpt_2x2.json"
refused "it is for another net" --layers 3 --d-model 36 --heads 6 --context 16 --batch 6 \
  --mesh node=2,gpu=2 --layout "$plans/gpt_2x2.json"
refused "5 heads do not divide 36 features" --d-model 36 --heads 5
refused "only --model llama-small has heads of keys" --kv-heads 2
refused "is for GPTs, but --model is llama-small" --model llama-small --tied
refused "llama-small does not run on GPUs yet" --model llama-small --device cuda
refused "3 key heads do not divide 4 query heads" --model llama-small --heads 4 --kv-heads 3
refused "the text has 9 bytes" --text "$work/short.txt"
refused "cannot read" --text "$work/missing.txt"
refused "least possible" "${net[@]}" --memory-limit 1KB
for layout in data tensor "$plans/gpt_2x2.json"; do
  refused "of memory on a rank, but the limit is" "${net[@]}" --mesh node=2,gpu=2 --layout "$layout" --memory-limit 1KB
done
refused "is not a size" --memory-limit many
refused "a gradient is delayed by 0 to 1000 steps, not by 1001" "${net[@]}" --delay 1001
refused "is not possible with --pipeline" "${net[@]}" --delay 1 --pipeline 2
refused "is not possible with --pipeline" "${net[@]}" --staleness 1 --pipeline 2
refused "is not possible with --sync zero1" "${net[@]}" --layout data --staleness 1 --sync zero1
refused "Give all parameters sync::owners{.staleness = K} in a plan that splits only the batch" \
  "${net[@]}" --layout tensor --staleness 1
refused "are sent as they are, at once and as tensors" "${net[@]}" --layout data --staleness 1 --wire int8
refused "excludes" "${net[@]}" --staleness 1 --clip 2
refused "must divide the number of blocks" "${net[@]}" --pipeline 3
refused "nowhere.json cannot be read" "${net[@]}" --pipeline nowhere.json
refused "--layout: has no effect, because the file of --pipeline has the layout of each stage" "${net[@]}" \
  --pipeline nowhere.json --layout data
refused "is neither a file nor one of gpipe, 1f1b, eager" "${net[@]}" --pipeline 2 --schedule fast
refused "lacks the number of stages on each part" "${net[@]}" --pipeline 2 --schedule interleaved:
refused "do not divide the net's 2 equal blocks" "${net[@]}" --pipeline 2 --schedule zb_v
refused "but with --pipeline it says how the ranks of a stage work together" "${net[@]}" --pipeline 2 \
  --layout "$plans/gpt_2x2.json"
refused "stage 0 may have at most 1 micro-batches in flight, but the schedule needs 2" "${net[@]}" --pipeline 2 \
  --micro-batches 2 --in-flight 1
refused "--in-flight requires --pipeline" "${net[@]}" --in-flight 2
refused "--schedule requires --pipeline" "${net[@]}" --schedule eager
refused "adam_w: lr is nan, but must be a finite number" "${net[@]}" --lr nan
refused "nn::repeat: 1000000000 copies of a net of 14 elements are too many" --layers 1000000000
refused "give the folder of the training with --checkpoint DIR" "${net[@]}" --resume
refused "--every-steps requires --checkpoint" "${net[@]}" --every-steps 5
refused "--keep requires --checkpoint" "${net[@]}" --keep 5
refused "--save-layout: on rank 0: $work/no/plan.json cannot be written" "${net[@]}" --save-layout "$work/no/plan.json"
refused "--save-layout: on rank 0: $work/no/plan.json cannot be written" "${net[@]}" --pipeline 2 \
  --save-layout "$work/no/plan.json"
mkdir -p "$work/run" && echo '{}' >"$work/run/step-000000007.json"
refused "has a training of 7 steps. Continue it with --resume" "${net[@]}" --checkpoint "$work/run"
refused "lacks an entry" "${net[@]}" --checkpoint "$work/run" --resume
refused "the loss is" "${net[@]}" --lr 1e30 --steps 50 --warmup 0
refused "--steps" --steps 0
refused "--no-such-option" --no-such-option
refused "bf16 is for --device cuda" --precision bf16
refused "tf32 is for --device cuda" --device cpu --precision tf32
refused "graphs are for --device cuda" --graph
refused "the actions of a graph have no times, which --trace writes" --device cuda --graph --trace "$work/trace.json"
refused "a step of a pipeline cannot be one graph" "${net[@]}" --device cuda --pipeline 2 --graph
refused "--device" --device gpu
refused "--vocabulary" --vocabulary 255
refused "It is the tokens of the fullest rank over the mean" "${net[@]}" --experts 4 --imbalance 0.5
experts=(--experts 4 --mesh node=2,gpu=2 --steps 1)
refused "needs the forward passes of 2 micro-batches before its backward passes, but 1 of 1 take turns" "${net[@]}" "${experts[@]}" --balance-over 2
timeout 60 "${ASHLAR_MPIEXEC:-mpirun}" -n 4 "$program" "${net[@]}" "${experts[@]}" --imbalance 1.5 \
  --save-layout "$work/experts.json" >"$work/out" 2>&1 || { cat "$work/out"; failed=1; }
refused "imbalance: the plan is for 1.5, but the net has 1.0." "${net[@]}" "${experts[@]}" \
  --layout "$work/experts.json"
# This does not use `ldd | grep -q`, because grep -q may exit before ldd. A signal then ends ldd,
# which pipefail reports as a failure.
if [[ "$(ldd "$program")" == *libnccl* ]]; then
  [ -e /dev/nvidiactl ] || refused "There is no NVIDIA driver here" --device cuda
else
  refused "built without CUDA. Configure with -DASHLAR_ENABLE_CUDA=ON" --device cuda
fi
exit "$failed"
