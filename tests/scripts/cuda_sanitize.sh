#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Tests the script tests/cuda/sanitize.sh on a machine without a GPU, with fake programs (shell
# scripts) in place of nvidia-smi, compute-sanitizer, mpiexec and the tests. Both tools of
# compute-sanitizer must run every test of kernels. Memcheck must run the tests of crossings, halos
# and pipelines on two ranks, without their cases in bfloat16. Errors that the tools find, and
# missing programs, must be printed and determine the exit status.
set -euo pipefail

script="${ASHLAR_SOURCE_DIR:?run by CTest}/tests/cuda/sanitize.sh"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/build/tests"
export CUDA_HOME="$work/nowhere" ASHLAR_SANITIZE_TIMEOUT=2 ASHLAR_MPIEXEC="$work/bin/mpiexec"

# play <name> <line of shell>: writes a fake program.
play() {
  printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
  chmod +x "$work/$1"
}
# gives <status> <text>: runs sanitize.sh and demands this exit status and this text.
gives() {
  local status=0
  PATH="$work/bin:/usr/bin:/bin" bash "$script" "$work/build" >"$work/output" 2>&1 || status=$?
  if [ "$status" -ne "$1" ] || ! grep -q -- "$2" "$work/output"; then
    cat "$work/output"
    echo "exit $status; expected $1 and \"$2\""
    exit 1
  fi
}

play bin/nvidia-smi 'echo "No devices were found"; exit 6'
gives 77 'there is no GPU here'
play bin/nvidia-smi 'echo "GPU 0: fake (UUID: GPU-0)"'
if ! PATH=/usr/bin:/bin command -v compute-sanitizer >/dev/null; then gives 77 'not on the PATH'; fi
# Like the real compute-sanitizer, the fake one exits with the status of the program that it runs,
# or with 86 if it finds an error.
# shellcheck disable=SC2016
play bin/compute-sanitizer 'tool=$2; shift 4; echo "========= COMPUTE-SANITIZER"
  if [ "$1" = --report-api-errors ]; then shift 2; fi
  case "$tool $1" in $finds) echo "========= ERROR SUMMARY: 1 error"; exit 86 ;; esac; "$@"'
# shellcheck disable=SC2016
play bin/mpiexec '[ "$1 $2" = "-n 2" ] || exit 9; shift 2; exec "$@"'
gives 77 'cuda_rows_test was not built'
for test in rows elements strided; do play "build/tests/cuda_${test}_test" 'exit 0'; done
for test in crossing halo pipeline; do
  # shellcheck disable=SC2016
  play "build/tests/cuda_${test}_test" '[ "$*" = "--test-case-exclude=*bfloat16*" ]'
done
gives 0 'racecheck  strided   clean'
[ "$(grep -c ' clean, ' "$work/output")" -eq 9 ] || { cat "$work/output"; exit 1; }
export finds='racecheck*elements*'
gives 1 'racecheck  elements  ERRORS'
grep -q 'ERROR SUMMARY: 1 error' "$work/output"
grep -q 'memcheck   elements  clean' "$work/output"
export finds='memcheck*pipeline*'
gives 1 'memcheck   pipeline  ERRORS'
unset finds
play build/tests/cuda_rows_test 'exit 3'
gives 1 'memcheck   rows      the test failed, exit 3'
play build/tests/cuda_rows_test 'exec sleep 20'
gives 1 'rows      did not end within 2 s'
echo "sanitize.sh says what it finds and what is missing"
