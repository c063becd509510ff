#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Tests examples/plan. It must read the files that it writes, and its output must fit 100
# columns. For each wrong input it must soon end with a non-zero exit status and the right error
# message.
set -uo pipefail

program="$ASHLAR_BINARY_DIR/examples/plan"
[ -x "$program" ] || { echo "no plan was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
gpt=(gpt --layers 4 --d-model 64 --heads 4 --context 32 --batch 8 --vocabulary 97 --mesh node=2,gpu=2
  --machine workstation)
failed=0

fail() {
  echo "FAILED: $1"
  cat "$work/out"
  failed=1
}

says() {  # <sentence> <option>...: the program must succeed and print the sentence
  local sentence="$1"
  shift
  timeout 300 "$program" "$@" >"$work/out" 2>&1 || { fail "$*: exit $?"; return; }
  grep -qF -- "$sentence" "$work/out" || fail "$*: expected \"$sentence\""
  if awk '{ gsub(/[^ -~]/, "") } length($0) > 100 { exit 1 }' "$work/out"; then :; else
    fail "$*: a line is wider than 100 columns"
  fi
}

refused() {  # <sentence> <option>...: the program must fail and print the sentence once
  local sentence="$1" status=0
  shift
  timeout 300 "$program" "$@" >"$work/out" 2>&1 || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -ge 124 ] ||
    [ "$(grep -cF -- "$sentence" "$work/out")" -ne 1 ]; then
    fail "$* (exit $status): expected \"$sentence\" once"
  else
    echo "refused: $(grep -F -- "$sentence" "$work/out" | cut -c1-160)"
  fi
}

says "proved to be the optimum by exact" "${gpt[@]}" --out "$work/plan.json" --html "$work/plan.html" \
  --header "$work/plan.hpp" --name my_plan
says "4 x: elements 1 to 12, repeated up to 48" "${gpt[@]}" --explain
says "b takes as long as a" "${gpt[@]}" --diff "$work/plan.json"
says "a: the plan that was found; b: data" "${gpt[@]}" --diff data
says "your pin costs " "${gpt[@]}" --pin 'gelu.x=B,S(2)'
says "your pins cost " "${gpt[@]}" --pin '3..39/12.weight=*,S(1)' --pin 0.table=B,B
says "time and memory: " "${gpt[@]}" --pareto 4
says "found by coordinate_descent" "${gpt[@]}" --algorithm coordinate_descent --evaluations 2000
says "data parallel" mlp --widths 64,256,10 --batch 24 --mesh gpu=3 --machine workstation
says "a step" vgg13 --image 32 --batch 4 --mesh gpu=2
says "a step" dlrm --tables 4 --rows 1000 --batch 64 --mesh node=2,gpu=2
says "the busiest rank does" mlp --widths 4,6,4 --batch 5 --mesh gpu=7 --pin '*.x=S(0)' \
  --machine workstation
pipeline=(gpt --layers 8 --d-model 1024 --heads 16 --context 128 --batch 64 --type bfloat16
  --mesh node=8,gpu=2 --memory-limit 16GB)
says "4 stages along node, each on node=2,gpu=2 (4 ranks), 1F1B" "${pipeline[@]}" --stages 4 --schedule 1f1b \
  --out "$work/stages.json" --html "$work/stages.html"
grep -q '"format": "ashlar pipeline"' "$work/stages.json" || fail "no pipeline was written"
grep -q "</html>" "$work/stages.html" || fail "the page of the pipeline does not end"
says "micro-batches of 4" "${pipeline[@]}" --stages 2 --micro-batches 3 --batch 4 --explain
says "without stages" "${pipeline[@]}" --layers 2 --pipeline
says "your pin costs " "${gpt[@]}" --stages 2 --micro-batches 2 --batch 4 --schedule 1f1b --pin 'gelu.x=B,B'
grep -q 'your pin costs .* a step (' "$work/out" || fail "the pin of a pipeline costs nothing"
says "b takes as long as a" "${pipeline[@]}" --stages 4 --schedule 1f1b --diff "$work/stages.json"
says "b: 4 stages along node of node=8,gpu=2" "${pipeline[@]}" --stages 2 \
  --diff "$work/stages.json"
says "one stage (no pipeline) is best" vgg13 --image 32 --batch 4 --mesh node=2,gpu=2 --pipeline
says "one stage is best, " "${gpt[@]}" --micro-batches auto
small=(u-transformer --channels 8,16,32,32 --heads 4 --image 16 --batch 32 --mesh node=2,gpu=2)
says "a step" "${small[@]}"
says "skip           stages" "${small[@]}" --stages 2 --micro-batches 4 --batch 8 --html "$work/u.html"
grep -q "of the skip from stage 0 to 1" "$work/u.html" || fail "the page lacks the skips"
says "proved to be the optimum by exact" "${gpt[@]}" --tied
says "dropout" "${gpt[@]}" --as-trained --explain
says "2 stages along node" "${pipeline[@]}" --tied --layers 4 --stages 2 --schedule 1f1b
grep -q "inline constexpr auto my_plan" "$work/plan.hpp" || fail "the header lacks my_plan"
grep -q "</html>" "$work/plan.html" || fail "the page does not end"

turns=(gpt --layers 2 --d-model 64 --heads 4 --context 32 --batch 8 --vocabulary 97 --mesh gpu=4
  --machine a100_server --micro-batches 4 --overlap)
says "2 take turns" "${turns[@]}" --interleaved 2 --explain --html "$work/turns.html" --out "$work/turns.json"
grep -q "seconds beside computations (hidden) and waited for (exposed)" "$work/out" || fail "no hidden seconds"
grep -q ">inside a node</text>" "$work/turns.html" || fail "the page has no row of transfers"
says " micro-batches, of which " "${turns[@]}" --interleaved auto --seconds 1
says " with transfers beside computations" "${turns[@]}" --interleaved 2 --diff "$work/turns.json"
experts=(gpt-moe --layers 2 --d-model 64 --heads 4 --context 32 --batch 8 --vocabulary 97 --experts 4
  --mesh gpu=2 --overlap --evaluations 5)
says "if nothing overlaps" "${experts[@]}" --imbalance 1.5 --out "$work/experts.json"
refused "imbalance: the plan is for 1.5, but the net has 1.2." "${experts[@]}" --imbalance 1.2 \
  --diff "$work/experts.json"

refused "--interleaved auto needs --overlap" "${gpt[@]}" --interleaved auto
refused "9 micro-batches cannot take turns in a step of 4" "${turns[@]}" --interleaved 9
refused "--pareto is a front of times without overlap" "${turns[@]}" --pareto 4
refused "--overlap is for plans without pipeline stages" "${turns[@]}" --pipeline
refused "--micro-batches auto compares times without overlap" "${turns[@]}" --micro-batches auto
refused "--algorithm random_search minimizes the time without overlap" "${turns[@]}" \
  --algorithm random_search --evaluations 5
refused "--experts is for gpt-moe, bert-sgmoe, bert-switch, vit-sgmoe, vit-switch, but the model is gpt" \
  "${gpt[@]}" --experts 4
refused "--halo is for vgg13, vgg16, alexnet, but the model is gpt" "${gpt[@]}" --halo
refused "--layers is for gpt, bert, gpt-moe, but the model is llama-7b" llama-7b --layers 2
refused "--image is for vgg13, vgg16, alexnet, u-transformer, vit-sgmoe, vit-switch, but the model is mlp" mlp --image 8
refused "It is the tokens of the fullest rank over the mean" gpt-moe --imbalance 0.5
refused "(linear) needs most" "${gpt[@]}" --memory-limit 1KB
refused '"lots" is not a size' "${gpt[@]}" --memory-limit lots
refused '"nowhere.json" is neither a file nor one of' "${gpt[@]}" --machine nowhere.json
refused "an extent is not a number" "${gpt[@]}" --mesh gpu=0
refused "two axes have the same name" "${gpt[@]}" --mesh gpu=2,gpu=2
refused "Merge axes of one tier" "${gpt[@]}" --mesh a=2,b=2,c=2,d=2,e=2 --pin '0.table=B,B,B,B,B'
says "no baselines for comparison" mlp --widths 64,256,10 --batch 8 --mesh a=2,b=2,c=2,d=2,e=2
refused "The nearest are" "${gpt[@]}" --pin 'gelu.x=S(0),P'
refused "a pin is written ELEMENT.TENSOR=PLACEMENT" "${gpt[@]}" --pin x
refused "there is no element 99" "${gpt[@]}" --pin '99.x=B,B'
refused "no layer has this name" "${gpt[@]}" --pin 'lineal.x=B,B'
says "no other strategies of these parameters are faster" "${gpt[@]}" --sync optimal
refused "also what --pin prescribes" "${gpt[@]}" --pin 0.table.store=B,B --sync zero1
refused "cannot be read" "${gpt[@]}" --diff nowhere.json
refused "it is for another net" "${gpt[@]}" --layers 3 --diff "$work/plan.json"
sed 's/"micro_batches"/"micro_batch"/' "$work/plan.json" >"$work/key.json"
refused '"micro_batch" is not a known key' "${gpt[@]}" --diff "$work/key.json"
sed 's/"version": 1/"version": 99/' "$work/plan.json" >"$work/version.json"
refused "this program reads versions 1 to 10" "${gpt[@]}" --diff "$work/version.json"
refused "5 heads do not divide 64 features" "${gpt[@]}" --heads 5
refused "there is no algorithm" "${gpt[@]}" --algorithm simplex
refused "nothing in the options ends this search" "${gpt[@]}" --algorithm random_search
refused "this is a plan in pipeline stages: io::load_pipeline reads it" "${pipeline[@]}" --diff "$work/stages.json"
refused "3 stages of a net that can be cut into at most 20 on node=8,gpu=2" "${pipeline[@]}" --stages 3
refused "2 stages of 1 equal blocks" mlp --widths 64,256,10 --batch 4 --mesh node=2,gpu=2 --stages 2 --schedule 1f1b
refused "--pareto is for plans without pipeline stages" "${pipeline[@]}" --pipeline --pareto
refused "--program is for plans without pipeline stages" "${pipeline[@]}" --stages 2 --program
refused "--interleaved is for a given number of micro-batches without pipeline stages" "${gpt[@]}" \
  --micro-batches auto --interleaved 2
refused "--sync zero1 changes a plan after the search" "${gpt[@]}" --sync zero1 --pareto 4
refused "there is no element 999" "${pipeline[@]}" --pipeline --pin '999.x=B,B'
refused "--header is for plans without pipeline stages" "${pipeline[@]}" --stages 2 --header h.hpp
refused "no number of stages and micro-batches fits" "${gpt[@]}" --pipeline --memory-limit 1KB
refused "no schedule stays within the limit: stage 0 may have at most 3 micro-batches in flight" "${pipeline[@]}" \
  --stages 4 --micro-batches 8 --schedule 1f1b --in-flight 3
refused "--in-flight is for plans with pipeline stages" "${gpt[@]}" --in-flight 3
refused "many is neither auto nor a number of 1 or more" "${pipeline[@]}" --stages many
refused "0 is neither auto nor a number of 1 or more" "${pipeline[@]}" --micro-batches 0
refused "is not a valid C++ variable name" "${gpt[@]}" --header "$work/h.hpp" --name 2x
refused "cannot be written" "${gpt[@]}" --out "$work/no/such/folder.json"
refused "There must be fewer than 2^63" mlp --widths 1073741824,1073741824,2 --batch 1073741824 \
  --mesh gpu=2
refused "--batch" "${gpt[@]}" --batch 0
refused "a u-transformer has 4 levels" "${small[@]}" --channels 8,16
refused "--tied is for gpt, but the model is u-transformer" "${small[@]}" --tied
refused "model" resnet
exit "$failed"
