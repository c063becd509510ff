#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains with one seed for 20 steps. The loss of every step must be the same to 1e-4 on 1, 2, 3, 4,
# 6 and 8 ranks, with the data, tensor and searched layouts and with two hand-written plans.
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
