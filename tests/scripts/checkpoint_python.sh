#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests that Python's package safetensors can read our checkpoints. The Python code in
# include/ashlar/checkpoint/README.md must assemble equal values from the files of 1 rank and of 4
# ranks.
set -euo pipefail

program="$ASHLAR_BINARY_DIR/examples/train_gpt"
[ -x "$program" ] || { echo "no train_gpt was built"; exit 77; }
python3 -c 'import safetensors.numpy, numpy' 2>/dev/null || { echo "no Python package safetensors"; exit 77; }
mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
net=(--layers 2 --d-model 96 --heads 6 --context 256 --batch 6 --text "$ASHLAR_SOURCE_DIR/LICENSE")

"$mpiexec" -n 4 "$program" "${net[@]}" --mesh node=2,gpu=2 --layout tensor --steps 2 \
  --checkpoint "$work/four" >/dev/null
# One rank and four ranks each load the checkpoint and make one more step.
cp -r "$work/four" "$work/one"
"$mpiexec" -n 1 "$program" "${net[@]}" --steps 3 --checkpoint "$work/one" --resume --keep 0 >/dev/null
"$mpiexec" -n 4 "$program" "${net[@]}" --mesh node=2,gpu=2 --layout data --steps 3 \
  --checkpoint "$work/four" --resume --keep 0 >/dev/null

# shellcheck disable=SC2016
sed -n '/^```python/,/^```/{/^```/d;p}' "$ASHLAR_SOURCE_DIR/include/ashlar/checkpoint/README.md" >"$work/page.py"
cat >"$work/compare.py" <<'P'
import sys
sys.path.insert(0, sys.argv[1])
import numpy
from page import load
two, one, four = (load(sys.argv[1] + "/" + f) for f in
                  ("four/step-000000002.0", "one/step-000000003.0", "four/step-000000003.0"))
assert two.keys() == one.keys() == four.keys() and len(one) > 60, (len(two), len(one), len(four))
cut = 0
for name in one:
    assert one[name].shape == four[name].shape == two[name].shape and one[name].dtype == numpy.float32, name
    assert numpy.allclose(one[name], four[name], rtol=1e-3, atol=1e-5), name
    cut += not numpy.array_equal(one[name], two[name])
assert cut > 0.9 * len(one), "a step changes nearly all arrays"
assert one["0.table"].shape == (256, 96)
P
python3 "$work/compare.py" "$work"
echo "checkpoint_python: all as expected"
