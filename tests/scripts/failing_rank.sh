#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests that if one rank fails, the whole job ends soon, with a non-zero exit status and one message
# that says what failed and where. tests/programs/failing_rank.cpp lists the ways to fail.
set -euo pipefail

mpiexec="${ASHLAR_MPIEXEC:-mpirun}"

program="${ASHLAR_BINARY_DIR:?run by CTest}/tests/program_failing_rank"
if [ ! -x "$program" ]; then
  echo "no failing_rank program in this build"
  exit 77
fi
command -v "$mpiexec" >/dev/null || { echo "no mpirun"; exit 77; }

# fails <ranks> <how> <text>...: demands that the program, with the argument <how>, fails within 30
# seconds and prints each text exactly once.
fails() {
  local ranks="$1" how="$2" output status=0 text times
  shift 2
  echo "$ranks ranks, $how"
  output="$(timeout 30 "$mpiexec" -n "$ranks" "$program" "$how" 2>&1)" || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
    printf '%s\nexit %d\n' "$output" "$status"
    exit 1
  fi
  for text in "$@"; do
    times="$(grep -cF -- "$text" <<<"$output" || true)"
    [ "$times" -eq 1 ] || { printf '%s\n"%s" %d times\n' "$output" "$text" "$times"; exit 1; }
  done
}

fails 1 no_mpi "main says: mesh: MPI is not running. Begin main with ashlar::mpi::environment"
fails 1 mesh "[rank 0] error: mesh: gpu=12 has 12 ranks but the program runs on 1."
fails 1 one "[rank 0] error: work: disk full on this rank only"
fails 3 mesh "error: mesh: gpu=12 has 12 ranks but the program runs on 3."
fails 3 one "[rank 2] error: work: disk full on this rank only"
fails 3 all "[rank 0] error: no rank can go on" "no rank can go on"
fails 3 foreign "[rank 2] error: the program threw an exception that is not a std::exception"
# The other ranks of the node notice that rank 2 has failed, and throw too. The first rank that
# leaves its environment ends the job.
fails 3 caught "main says: work: disk full on this rank only" "error: an exception left"
# If ranks communicate by messages only, as between nodes, waiting ranks do not notice the failure.
# The rank that has failed ends the job.
export ASHLAR_SHARED_MEMORY=off
fails 3 one "[rank 2] error: work: disk full on this rank only"
fails 3 caught "main says: work: disk full on this rank only" "[rank 2] error: an exception left"
unset ASHLAR_SHARED_MEMORY
# One rank runs a program that was built with another version of the library.
status=0
output="$(timeout 30 "$mpiexec" -n 2 "$program" none : -n 1 "${program/failing_rank/other_version}" none 2>&1)" || status=$?
said="mesh: the ranks run different versions of ashlar: rank 2 has another one than rank 0."
if [ "$status" -eq 0 ] || ! grep -qF "$said" <<<"$output"; then
  printf '%s\nexit %d\n' "$output" "$status"
  exit 1
fi
for how in none kept; do
  output="$("$mpiexec" -n 3 "$program" "$how" 2>&1)" || { echo "$output"; exit 1; }
  [ "$(grep -c '^done 1$' <<<"$output")" -eq 3 ] || { echo "$output"; exit 1; }
done
echo "failing_rank: all as expected"
