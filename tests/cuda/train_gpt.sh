#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains with examples/train_gpt on 1, 2 and 4 GPU ranks, also in two pipeline stages, and compares
# the losses of 50 steps with the host's losses. The relative tolerance is 1e-3 in float, and larger
# in tf32 and bf16. If there are fewer GPUs than ranks, the ranks share a GPU. Also starts the
# program on more ranks than GPUs without sharing, which the program must refuse.
set -euo pipefail

# shellcheck source=tests/support/largest_difference.sh
. "${ASHLAR_SOURCE_DIR:?run by CTest}/tests/support/largest_difference.sh"
program="${ASHLAR_BINARY_DIR:?run by CTest}/examples/train_gpt"
[ -x "$program" ] || { echo "skipped: no train_gpt was built"; exit 77; }
nvidia-smi -L >/dev/null 2>&1 || { echo "skipped: no CUDA device here (nvidia-smi)"; exit 77; }
gpus="$(nvidia-smi -L | grep -c '^GPU')"
mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
steps=50
training=(--layers 2 --d-model 64 --heads 4 --context 32 --batch 8 --text "$ASHLAR_SOURCE_DIR/LICENSE"
  --steps "$steps" --exact-log)

# The settings of tests/support/nccl_shared_device.hpp, with which several ranks can share a GPU.
# shellcheck disable=SC2016
shared='export NCCL_HOSTID="process $$" NCCL_NET=Socket NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo \
  NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NVLS_ENABLE=0 NCCL_MNNVL_ENABLE=0 NCCL_RAS_ENABLE=0 \
  NCCL_MAX_NCHANNELS=1 ASHLAR_NCCL_TIMEOUT=60; exec "$@"'

# losses <ranks> <file> <option>...: trains on this number of ranks and writes the loss lines to the
# file.
losses() {
  local ranks="$1" file="$2" run=()
  shift 2
  if [ "$ranks" -gt "$gpus" ]; then run=(bash -c "$shared" rank); fi
  "$mpiexec" -n "$ranks" "${run[@]}" "$program" "${training[@]}" "$@" | grep '^loss' >"$file"
  [ "$(wc -l <"$file")" -eq "$steps" ] || { echo "$ranks ranks, $*: not $steps losses"; exit 1; }
}

# compare <ranks> <tolerance> <option>...: trains on GPUs and fails unless each loss agrees with the
# host's loss within the relative tolerance.
compare() {
  local ranks="$1" tolerance="$2"
  shift 2
  losses "$ranks" "$work/losses" --device cuda "$@"
  largest_difference "$work/reference" "$work/losses" "$tolerance" "$ranks ranks, $*"
}

losses 1 "$work/reference" --device cpu
for ranks in 1 2 4; do
  for layout in data tensor auto; do compare "$ranks" 1e-3 --layout "$layout"; done
done
losses 1 "$work/reference" --device cpu --dropout 0.1
compare 2 1e-3 --dropout 0.1
losses 1 "$work/reference" --device cpu
for ranks in 1 2; do
  compare "$ranks" 1e-3 --graph
  compare "$ranks" 1e-2 --precision tf32
  compare "$ranks" 2e-2 --precision bf16
done

# Trains in two pipeline stages. Each step has two micro-batches of 4 sequences, so it has as many
# sequences as the steps above.
training+=(--batch 4 --micro-batches 2)
losses 1 "$work/reference" --device cpu
for schedule in 1f1b eager; do compare 2 1e-3 --pipeline 2 --schedule "$schedule"; done
compare 4 1e-3 --pipeline 2 --sync zero1
compare 2 2e-2 --pipeline 2 --precision bf16

# Starts one rank more than there are GPUs.
status=0
timeout 120 "$mpiexec" -n $((gpus + 1)) "$program" --device cuda >"$work/out" 2>&1 || status=$?
if [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || ! grep -q "Start at most as many ranks on a node" "$work/out"; then
  echo "more ranks than GPUs (exit $status):"
  cat "$work/out"
  exit 1
fi
grep "Start at most as many ranks on a node" "$work/out"
