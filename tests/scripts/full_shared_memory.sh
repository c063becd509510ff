#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests that ranks do not hang in MPI_Win_allocate_shared if /dev/shm is too small. By default they
# warn once and use messages. If the user has set a size that /dev/shm cannot provide, every rank
# throws. The test mounts a small file system at /dev/shm, which needs the right to mount. Only
# processes of this test see this file system.
set -euo pipefail

mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
program="${ASHLAR_BINARY_DIR:?run by CTest}/tests/program_failing_rank"
[ -x "$program" ] || { echo "no failing_rank program in this build"; exit 77; }
command -v "$mpiexec" >/dev/null || { echo "no mpirun"; exit 77; }
unshare -m mount -t tmpfs -o size=4m tmpfs /dev/shm 2>/dev/null ||
  { echo "a file system cannot be mounted over /dev/shm here"; exit 77; }

# UCX, with which MPICH sends messages, keeps its buffers in another folder: it ends the program if
# they do not fit in /dev/shm.
export UCX_POSIX_DIR="${TMPDIR:-/tmp}"

# run <size of /dev/shm>: runs the program on 4 ranks, without any other fault. Sets the variables
# output and status.
run() {
  status=0
  # shellcheck disable=SC2016
  output="$(SIZE="$1" timeout 60 unshare -m bash -c \
    'mount -t tmpfs -o size=$SIZE tmpfs /dev/shm && exec "$@"' run \
    "$mpiexec" -n 4 "$program" none 2>&1)" || status=$?
}
demand() {
  if ! "$@"; then
    printf 'not true: %s\nexit %d\n%s\n' "$*" "$status" "$output"
    exit 1
  fi
}
times() { grep -cF -- "$1" <<<"$output" || true; }

echo "the default size does not fit"
run 4m
demand [ "$status" -eq 0 ]
demand [ "$(times 'WARNING: the 4 ranks of a node ask for')" -eq 1 ]
demand [ "$(times 'done 1')" -eq 4 ]

echo "the default size fits"
run 128m
demand [ "$status" -eq 0 ]
demand [ "$(times 'WARNING')" -eq 0 ]

echo "an explicit size does not fit"
for asked in 1TiB 31MiB; do
  export ASHLAR_SHARED_MEMORY="$asked"
  run 128m
  demand [ "$status" -ne 0 ]
  demand [ "$status" -ne 124 ]
  demand [ "$(times 'of shared memory, but its /dev/shm has only')" -eq 1 ]
done
export ASHLAR_SHARED_MEMORY=16MiB
run 128m
demand [ "$status" -eq 0 ]
demand [ "$(times 'done 1')" -eq 4 ]
echo "full_shared_memory: all as expected"
