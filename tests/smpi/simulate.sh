#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: simulate.sh [OPTION...] PLATFORM_PROGRAM MESH MACHINE PROGRAM [ARGUMENT...]
Runs PROGRAM MESH MACHINE ARGUMENT... on a simulated cluster. PLATFORM_PROGRAM (built from
platform.cpp) describes the cluster for the mesh and the machine. Fails if the program fails or
deadlocks. (smpirun itself ends with exit code 0 after a deadlock.)
  --timeout SECONDS   ends the simulation after this time; default: 120
  --expect deadlock   fails unless there is a deadlock
  --smpirun PATH      default: smpirun on the PATH
The simulated time of messages follows from α, β and the sharing of links, without SimGrid's
calibration factors. Computing takes no time. ASHLAR_SMPI_SETTINGS may contain settings of SimGrid,
which override those of this script, such as ASHLAR_SMPI_SETTINGS=--cfg=smpi/test:1e-6
TEXT
}

seconds=120
expect=
smpirun=smpirun
while [ $# -gt 0 ]; do
  case "$1" in
    --timeout) seconds="$2"; shift 2 ;;
    --expect) expect="$2"; shift 2 ;;
    --smpirun) smpirun="$2"; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) printf 'simulate.sh: unknown option %s\n' "$1" >&2; usage >&2; exit 2 ;;
    *) break ;;
  esac
done
[ $# -ge 4 ] || { usage >&2; exit 2; }
make_platform="$1" mesh="$2" machine="$3" program="$4"
shift 4

folder=$(mktemp -d)
export TMPDIR="$folder" OPENBLAS_NUM_THREADS=1
trap 'rm -rf "$folder"' EXIT
"$make_platform" "$mesh" "$machine" "$folder"

settings=(
  # These options make SimGrid use the latencies and bandwidths of the platform unchanged.
  --cfg=network/model:SMPI --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1
  --cfg=network/weight-S:0 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0
  # With lazy updates, SimGrid counts only half the time of many flows that begin at once.
  --cfg=network/optim:Full --cfg=surf/precision:1e-13
  # Computing takes no time. MPI_Test and MPI_Iprobe take a little, because time must pass in a
  # loop that polls for a message. Otherwise the loop would never end.
  --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=smpi/test:1e-7 --cfg=smpi/iprobe:1e-7
  # Sends of any size wait for their receives, so that wrong orders of calls deadlock.
  --cfg=smpi/send-is-detached-thresh:0
  # Each rank gets its own copy of the static variables in headers. For this, the program must also
  # be compiled with -fno-gnu-unique (cmake/AshlarSmpi.cmake).
  --cfg=smpi/privatization:dlopen
  # MPI calls use the algorithms that the cost model describes.
  --cfg=smpi/allgather:NTSLR --cfg=smpi/allgatherv:mpich_ring
  --cfg=smpi/reduce_scatter:ompi_ring --cfg=smpi/allreduce:lr
  --cfg=smpi/alltoall:ring --cfg=smpi/alltoallv:ring
)
# Settings in ASHLAR_SMPI_SETTINGS come after the settings above and override them.
read -r -a more <<<"${ASHLAR_SMPI_SETTINGS:-}"

status=0
timeout --kill-after=5 "$seconds" \
  "$smpirun" -np "$(wc -l <"$folder/hosts")" -platform "$folder/platform.xml" \
  -hostfile "$folder/hosts" --log=root.thres:critical \
  "${settings[@]}" ${more[@]+"${more[@]}"} "$program" "$mesh" "$machine" "$@" \
  >"$folder/output" 2>&1 || status=$?
cat "$folder/output"

if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
  printf 'simulate.sh: no end within %s s\n' "$seconds"
elif grep -qE 'Deadlock detected|Stalling' "$folder/output"; then
  if [ "$expect" = deadlock ]; then
    printf 'simulate.sh: deadlock, as expected\n'
    exit 0
  fi
  printf 'simulate.sh: deadlock\n'
  exit 1
elif [ -n "$expect" ]; then
  printf 'simulate.sh: expected %s\n' "$expect"
  exit 1
fi
exit "$status"
