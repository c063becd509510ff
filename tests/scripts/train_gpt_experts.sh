#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains a small GPT with experts on two ranks, with micro-batches that take turns in pairs. The
# losses must be the same to the last bit whether transfers run beside computations (--overlap
# as_planned) or not (--overlap none), and must be close to the losses on one rank. The same must
# hold if the balance loss is computed over both micro-batches of a pair. These losses must differ
# from those with a balance loss of each micro-batch.
program=train_gpt steps=4
net=(--layers 2 --d-model 24 --heads 4 --context 12 --batch 4 --experts 8 --micro-batches 4
  --interleaved 2 --text "$ASHLAR_SOURCE_DIR/LICENSE")
training=("${net[@]}")
# shellcheck source=tests/support/losses.sh
. "$ASHLAR_SOURCE_DIR/tests/support/losses.sh"

# overlaps <option>...: compares the losses with and without overlap, and keeps the former in
# $work/planned.
overlaps() {
  training=("${net[@]}" "$@" --overlap as_planned)
  losses 2 gpu=2 auto
  cut -d' ' -f1-3 "$work/losses" >"$work/planned"
  training=("${net[@]}" "$@" --overlap none)
  compare 2 gpu=2 auto
  cut -d' ' -f1-3 "$work/losses" >"$work/serial"
  cmp "$work/planned" "$work/serial" || { echo "overlap changes the losses: $*"; exit 1; }
}

overlaps
cp "$work/planned" "$work/of_each"
training=("${net[@]}" --balance-over 2)
losses 1 gpu=1 data
cp "$work/losses" "$work/reference"
overlaps --balance-over 2
if cmp -s "$work/planned" "$work/of_each"; then
  echo "a balance loss over both micro-batches changes nothing"
  exit 1
fi
