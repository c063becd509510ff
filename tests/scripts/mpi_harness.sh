#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Tests the harness of the MPI tests, which must not let failing cases pass. Each case of
# tests/support/failing_cases.cpp must end in time, with a non-zero status and the right message.
set -euo pipefail

program="${ASHLAR_BINARY_DIR:-build/default}/tests/mpi_failing_cases"
if [ ! -x "$program" ]; then
  echo "not built without MPI and doctest"
  exit 77
fi

# fails <case> <words>: demands that the case fails with these words.
fails() {
  local output status=0
  output="$(ASHLAR_TEST_DEADLINE=12 timeout 60 "${ASHLAR_MPIEXEC:-mpirun}" -n 3 "$program" "-tc=$1" 2>&1)" || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || [[ "$output" != *"$2"* ]]; then
    printf '%s\nstatus %d; expected a failure that says: %s\n' "$output" "$status" "$2"
    return 1
  fi
  printf '%s: fails as it should\n' "$1"
}

fails "check on one rank" 'failed: "check on one rank" on 1 of 3 ranks'
fails "throw while the others wait" 'the others still wait inside it'
fails "leave while the others go on" 'only some ranks left'
fails "never end" 'not done after 12 s, in "never end"'
fails "exit with success" 'exit before the tests have ended'
