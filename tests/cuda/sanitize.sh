#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# sanitize.sh BUILD_FOLDER: runs the kernel tests in this folder under compute-sanitizer, with the
# tools memcheck and racecheck. Then runs the tests of crossings, halos and pipelines on two ranks
# with memcheck. These tests use NCCL, which tries calls of CUDA that may fail, so for them failed
# calls are not reported. Exit status:
#
#   0    no error was found
#   1    an error was found, or a test failed, found no device, or did not end within
#        ASHLAR_SANITIZE_TIMEOUT seconds (default 600)
#   77   there is no GPU, no compute-sanitizer or no test program; a message says which of them
set -euo pipefail

[ $# -eq 1 ] || { echo "Usage: tests/cuda/sanitize.sh BUILD_FOLDER" >&2; exit 2; }
folder="$1/tests"
limit="${ASHLAR_SANITIZE_TIMEOUT:-600}"
tests=(rows elements strided) tests_of_ranks=(crossing halo pipeline)
# shellcheck source=cmake/mpi_environment.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../../cmake/mpi_environment.sh"
export ASHLAR_NCCL_TIMEOUT="$limit" ASHLAR_TEST_DEADLINE="$limit"

leave_out() {
  printf 'compute-sanitizer: not run: %s\n' "$1"
  exit 77
}
nvidia-smi -L 2>/dev/null | grep '^GPU' >/dev/null || leave_out 'there is no GPU here'
sanitizer="$(command -v compute-sanitizer || true)"
if [ -z "$sanitizer" ]; then
  for place in "${CUDA_HOME:-/usr/local/cuda}"/bin "${CUDA_HOME:-/usr/local/cuda}"/compute-sanitizer; do
    if [ -x "$place/compute-sanitizer" ]; then sanitizer="$place/compute-sanitizer"; fi
  done
fi
[ -n "$sanitizer" ] || leave_out 'it is not on the PATH and not below CUDA_HOME; it comes with the CUDA toolkit'
for test in "${tests[@]}" "${tests_of_ranks[@]}"; do
  [ -x "$folder/cuda_${test}_test" ] || leave_out "$folder/cuda_${test}_test was not built"
done

output="$(mktemp)"
trap 'rm -f "$output"' EXIT
failed=0
# check <tool> <test> <command>...: runs a test, and prints its result and its errors.
check() {
  local tool="$1" test="$2" status=0 start=$SECONDS result
  shift 2
  timeout --kill-after=10 "$limit" "$@" >"$output" 2>&1 || status=$?
  case "$status" in
    0) result=clean ;;
    77) result='skipped by the test: it found no device' ;;
    86) result='ERRORS' ;;
    124 | 137) result="did not end within $limit s" ;;
    *) result="the test failed, exit $status" ;;
  esac
  printf '%-9s  %-8s  %s, %d s\n' "$tool" "$test" "$result" $((SECONDS - start))
  [ "$status" -ne 0 ] || return 0
  failed=1
  grep -E '^=========|ERROR' "$output" | head -n 60 || tail -n 20 "$output"
}
for tool in memcheck racecheck; do
  for test in "${tests[@]}"; do
    check "$tool" "$test" "$sanitizer" --tool "$tool" --error-exitcode 86 "$folder/cuda_${test}_test"
  done
done
for test in "${tests_of_ranks[@]}"; do
  # The cases in bfloat16 are left out: they run the same code as those in float, and each step
  # takes long.
  check memcheck "$test" "${ASHLAR_MPIEXEC:-mpirun}" -n 2 "$sanitizer" --tool memcheck \
    --error-exitcode 86 --report-api-errors no "$folder/cuda_${test}_test" '--test-case-exclude=*bfloat16*'
done
exit "$failed"
