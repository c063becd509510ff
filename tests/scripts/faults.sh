#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Tests the table of faults in docs/faults.md. Rank 2 of 4 commits each fault. Faults in the middle
# of a pipelined step are also committed by rank 0, which is in the first stage. Each fault must end
# the job within ten seconds, with a non-zero exit status and a message that names the rank and the
# operation. The job must leave no files in /dev/shm and no process. Environment variables:
#
#   ASHLAR_FAULTS          all: every fault with shared memory and with messages; default: every
#                          fault with shared memory, some with messages
#   ASHLAR_FAULT_TIMEOUT   the watchdog's timeout in seconds; default: 1
set -uo pipefail

# Other jobs on this machine write to /dev/shm too. If this test may mount a file system, it mounts
# a file system of its own at /dev/shm. Otherwise it does not check which files a job leaves there.
if [ -z "${ASHLAR_OWN_SHM:-}" ] && unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
  export ASHLAR_OWN_SHM=yes
  # shellcheck disable=SC2016
  exec unshare -m bash -c 'mount -t tmpfs tmpfs /dev/shm && exec bash "$@"' run "${BASH_SOURCE[0]}"
fi

program="${ASHLAR_BINARY_DIR:?run by CTest}/tests/program_faults"
# With ASHLAR_FAULTS=all, a missing program is a failure, because the build may have failed.
missing=77
if [ "${ASHLAR_FAULTS:-}" = all ]; then missing=1; fi
[ -x "$program" ] || { echo "no program_faults in this build"; exit "$missing"; }
mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
command -v "$mpiexec" >/dev/null || { echo "no $mpiexec"; exit "$missing"; }
# When a rank is killed, MPICH's launcher ends the other ranks within half a millisecond, so that
# they cannot report it.
or_ended='|BAD TERMINATION'
if "$mpiexec" --version 2>/dev/null | grep -qE 'Open MPI|OpenRTE'; then or_ended=; fi
# killed <rank>: prints a pattern that the output must match if that rank is killed.
killed() { printf 'Rank %s was killed: its process [0-9]+ on .* Rank [0-9] is in %s' "$1" "$or_ended"; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export ASHLAR_TIMEOUT="${ASHLAR_FAULT_TIMEOUT:-1}" ASHLAR_FLIGHT_RECORDS="$work/records"
export ASHLAR_CHECK=off  # also in a debug build, where the checked mode is the default
mkdir "$ASHLAR_FLIGHT_RECORDS"
failures=0 transport=

shm_files() { find /dev/shm -mindepth 1 2>/dev/null | sort; }

complain() {
  printf 'FAILED: %s, %s: %s\n' "$transport" "$how" "$1"
  cat "$work/out"
  failures=$((failures + 1))
}

# job <how> [folder or rank]: runs the program. Sets how, status and seconds.
job() {
  local begin=$SECONDS
  how="$1" status=0
  rm -f "$ASHLAR_FLIGHT_RECORDS"/*
  shm_files >"$work/shm_before"
  timeout -k 5 40 "$mpiexec" -n 4 "$program" "$@" >"$work/out" 2>&1 || status=$?
  seconds=$((SECONDS - begin))
}

# says <pattern>...: demands that the output matches each of these extended regular expressions.
says() {
  local text
  for text in "$@"; do
    grep -qE -- "$text" "$work/out" || complain "the output lacks: $text"
  done
}

# ends: demands that the job has ended in time, with an error, and has left no files and no
# processes.
ends() {
  if [ "$status" -eq 0 ] || [ "$status" -ge 124 ] && [ "$status" -le 125 ]; then
    complain "exit status $status"
  fi
  [ "$seconds" -le 10 ] || complain "it took $seconds s"
  for _ in $(seq 20); do
    pgrep -f -- "^$program" >/dev/null || break
    sleep 0.1
  done
  ! pgrep -f -- "^$program" >/dev/null || { complain "a process runs on"; pkill -KILL -f -- "^$program"; }
  [ -n "${ASHLAR_OWN_SHM:-}" ] || return 0
  shm_files | comm -13 "$work/shm_before" - >"$work/shm_left"
  [ ! -s "$work/shm_left" ] || complain "left in /dev/shm: $(tr '\n' ' ' <"$work/shm_left")"
}

# fault <how> <pattern>...: demands that the fault ends the job, and that the output matches the
# patterns. <how> is the name of the fault, with or without the rank that commits it.
fault() {
  # shellcheck disable=SC2086
  job $1
  ends
  shift
  says "$@"
}

# late <how> <pattern>...: like fault, for a fault that the watchdog finds. The watchdog must then
# write a flight record.
late() {
  fault "$@"
  says "error: mesh: Ranks? [0-9, and]+ ha(s|ve) waited for [0-9.]+ s in " "ASHLAR_TIMEOUT sets"
  compgen -G "$ASHLAR_FLIGHT_RECORDS/*.json" >/dev/null || complain "there is no flight record"
}

gather='all-gather along node of 64x64 float \[S\(0\),B\] -> \[B,B\] \(a table\)'
# collective_faults <all|some>: runs all or some of the faults that depend on the transport.
collective_faults() {
  job none
  [ "$status" -eq 0 ] || complain "exit status $status without a fault"
  job stage_none
  [ "$status" -eq 0 ] || complain "exit status $status without a fault"
  job inner_none -1
  [ "$status" -eq 0 ] || complain "exit status $status without a fault in a pass"
  fault stage_kill "$(killed 2)"
  for rank in 0 2; do
    fault "inner_throw $rank" "\[rank $rank\] error: faulty_relu: its backward pass has failed"
    fault "inner_kill $rank" "$(killed $rank)"
  done
  late stage_stop 'Rank 2 does not answer: its process [0-9]+ on .* is stopped'
  job stale_none
  [ "$status" -eq 0 ] || complain "exit status $status with stale parameters and without a fault"
  # While a rank of a stale training computes, it is in no operation that the message could name.
  fault stale_kill "Rank 2 was killed: its process [0-9]+ on $or_ended"
  fault stage_throw '\[rank 2\] error: reader: the file of this rank has ended'
  fault kill "$(killed 2)"
  late stop "$gather \(number[^:]*, for rank 2\." 'Rank 2 does not answer: its process [0-9]+ on .* is stopped'
  late missed "$gather \(number 4 [^.]*, for rank 2\." 'a barrier \(number' 'Rank 2 (waits|has waited for .*) in all-reduce'
  local other='error: [a-z-]*: rank [0-9] makes another transfer at this point'
  [ "$transport" = messages ] && export ASHLAR_CHECK=on
  fault extents "$other|mesh: the ranks are at different transfers. .*32x64"
  export ASHLAR_CHECK=off
  [ "$1" = all ] || return 0
  late leave "$gather \(number[^:]*, for rank 2\." 'Rank 2 does not answer: its process [0-9]+ on .* has left this mesh'
  late doubled 'a barrier \(number[^.]*, for rank 2\.' "$gather \(number 5 [^.]*, for rank 0\."
  late order "$gather \(number 4 [^.]*, for rank 2\." 'a barrier \(number[^.]*, for rank 0\.'
  fault crash "$(killed 2)"
  late stale_stop 'a read of stale parameters \(number[^:]*, for rank' 'Rank 2 does not answer: its process [0-9]+ on .* is stopped'
  late stage_leave 'a crossing between two parts \(number[^:]*, for rank 2\.' 'has left this mesh'
  [ "$transport" = messages ] && export ASHLAR_CHECK=on
  fault placement "$other|mesh: the ranks are at different transfers. .*all-to-all"
  fault type "$other|mesh: the ranks are at different transfers. .*double"
  export ASHLAR_CHECK=off
}

# other_faults: runs the faults that do not depend on the transport.
other_faults() {
  job slow
  [ "$status" -eq 0 ] || complain "a slow rank is no fault"
  job work
  [ "$status" -eq 0 ] || complain "a rank that says that it works for long is no fault"
  fault throw '\[rank 2\] error: reader: the file of this rank has ended'
  fault memory '\[rank 2\] error: tensor: out of host memory: .* tensor 16777216x16777216'
  fault experts '\[rank 2\] error: tensor: out of host memory: .* tensor 4x1/4x17592186044416'
  fault nan 'error: trainer: at step 3 the loss is -?nan .* 0.weight on rank 2 was not finite'
  fault batch 'error: trainer: .*rank 2 has another batch than rank 0'
  fault seed 'error: nn::place: the ranks have different seeds: rank 2 has another'
  fault plan 'error: nn::place: the ranks have different plans: rank 2 has another'
  fault machine 'error: mesh: the ranks give different machines: rank 2 has another'
}

transport="shared memory"
collective_faults all
other_faults
export ASHLAR_SHARED_MEMORY=off
transport=messages
collective_faults "${ASHLAR_FAULTS:-some}"
if [ "${ASHLAR_FAULTS:-some}" = all ]; then other_faults; fi
unset ASHLAR_SHARED_MEMORY

# Ctrl-C sends SIGINT to the launcher.
transport="shared memory" how=interrupt
shm_files >"$work/shm_before"
setsid "$mpiexec" -n 4 "$program" endless >"$work/out" 2>&1 &
launcher=$!
for _ in $(seq 100); do
  grep -q training "$work/out" && break
  sleep 0.1
done
begin=$SECONDS status=0
kill -INT "$launcher"
wait "$launcher" || status=$?
seconds=$((SECONDS - begin))
ends

# Tests a checkpoint that cannot be written, in file systems that are mounted for this test alone.
# No process outside this test sees them.
if unshare -m mount -t tmpfs tmpfs "$work" 2>/dev/null; then
  mkdir "$work/disk"
  # mounted <options>: saves a checkpoint into a file system with these mount options.
  mounted() {
    local begin=$SECONDS
    how="save, $1" status=0
    # shellcheck disable=SC2016
    OPTIONS="$1" FOLDER="$work/disk" unshare -m bash -c \
      'mount -t tmpfs -o $OPTIONS tmpfs "$FOLDER" && exec "$@"' run \
      timeout 40 "$mpiexec" -n 4 "$program" save "$work/disk" >"$work/out" 2>&1 || status=$?
    seconds=$((SECONDS - begin))
  }
  mounted size=4k
  ends
  says 'error: .*checkpoint.*: on rank [0-9]: .* No space left on device'
  mounted ro
  ends
  says 'error: .*checkpoint.*: on rank [0-9]: .* Read-only file system'
  mounted size=1m
  [ "$status" -eq 0 ] || complain "exit status $status with enough space"
fi
how=save status=0
job save "$work/out/below_a_file"
ends
says 'error: .*checkpoint.*: on rank [0-9]: .* Not a directory'

[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
echo "faults: all as expected"
