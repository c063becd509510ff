#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests the GPU benchmarks. Without a device they must list their cases and refuse wrong sizes. Then
# bench/run_cuda.sh runs them to the end at tiny sizes, on a fake device (tests/cuda/fake) and with
# a fake nvidia-smi. Times are not checked.
set -euo pipefail

built="$ASHLAR_BINARY_DIR/bench/cuda"
fake="$ASHLAR_BINARY_DIR/tests/fake"
for name in gemm kernels attention launch collectives; do
  [ -x "$built/$name" ] || { echo "no bench/cuda/$name was built"; exit 77; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$ASHLAR_SOURCE_DIR"
# shellcheck source=tests/support/says.sh
. tests/support/says.sh
fail() {
  cat "$work/output"
  echo "$1"
  exit 1
}

# Without a device, the programs must list their cases and refuse wrong arguments.
"$built/gemm" --list >"$work/output"
[ "$(grep -c '^bf16 ' "$work/output")" -eq 20 ] || fail "not 20 products of bf16"
grep -q '^tf32 TN 768x50304x8192$' "$work/output" || fail "no gradient of the last matrix"
"$built/kernels" --list >"$work/output"
[ "$(wc -l <"$work/output")" -eq 27 ] || fail "not 27 kernels"
"$built/attention" --list >"$work/output"
grep -q '^float, batch 2, sequence 8192$' "$work/output" || fail "no longest sequence"
refuses 'is not a shape' "$built/gemm" --shapes 12x
refuses 'bf32 not in' "$built/gemm" --types bf32
refuses 'not a multiple of --heads' "$built/kernels" --width 10 --heads 3
refuses 'not a multiple of the sequence 48' "$built/attention" --sequences 48
refuses 'tokens' "$built/attention" --tokens -1

# Without a GPU the script must say so and leave the page unchanged.
mkdir "$work/none" "$work/path"
printf '#!/bin/sh\necho "NVIDIA-SMI has failed" >&2\nexit 9\n' >"$work/none/nvidia-smi"
chmod +x "$work/none/nvidia-smi"
before="$(cksum bench/results/cuda.md)"
status=0
PATH="$work/none:$PATH" bash bench/run_cuda.sh >"$work/output" 2>&1 || status=$?
[ "$status" -eq 77 ] || fail "without a GPU: exit $status, not 77"
grep -q 'no GPU here' "$work/output" || fail "without a GPU: does not say so"
[ "$(cksum bench/results/cuda.md)" = "$before" ] || fail "without a GPU: the page changed"
status=0
bash bench/run_cuda.sh --tiny >"$work/output" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "--tiny without --into: exit $status, not 2"

# Runs the script with a fake GPU.
[ -x "$fake/bench/cuda/gemm" ] || { echo "benchmarks named; no fake device in this build"; exit 0; }
cat >"$work/path/nvidia-smi" <<'FAKE'
#!/bin/sh
case "$*" in
  -L) echo 'GPU 0: fake (UUID: GPU-0)' ;;
  *) echo 'fake, 000.00, 0 MiB' ;;
esac
FAKE
chmod +x "$work/path/nvidia-smi"
PATH="$work/path:$PATH" bash bench/run_cuda.sh --programs "$fake" --into "$work/page" --tiny \
  --no-install >"$work/output" 2>&1 || fail "run_cuda.sh on a fake device failed"
page="$work/page/cuda.md"
[ "$(grep -c '^all results right' "$work/output")" -eq 5 ] || fail "not five parts found all results right"
for text in '^| NN 16 x 16 x 16 |' '^| TN 9 x 4 x 5 |' '^| NT 6 x 7 x 8 |' '^| layer norm backward | 32x24 |' '^| float | 2 x 32 |' \
  '^| product of order 64 |' '^| gemm | ran |' 'train_gpt was not built' 'one GPU has nothing to exchange' '^| attention 2 | ran |' \
  'say nothing of speed'; do
  grep -q "$text" "$page" || { cat "$page"; fail "not in the page: $text"; }
done
[ "$(cksum bench/results/cuda.md)" = "$before" ] || fail "the page of the tree changed"

# If one part finds a wrong result, the run must fail and the other parts must still run.
mkdir -p "$work/broken/bench/cuda"
cp "$fake"/bench/cuda/* "$work/broken/bench/cuda/"
printf '#!/bin/sh\necho "gemm: wrong"\nexit 1\n' >"$work/broken/bench/cuda/gemm"
status=0
PATH="$work/path:$PATH" bash bench/run_cuda.sh --programs "$work/broken" --into "$work/page" --tiny \
  --no-install >"$work/output" 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "a part that failed: exit $status, not 1"
grep -q '^| gemm | failed with exit 1 |' "$page" || fail "a part that failed: not in the page"
grep -q '^| passes | ran |' "$page" || fail "the part after it did not run"
echo "bench/cuda runs to the end on a fake device"
