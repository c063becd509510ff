# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Scripts source this file to compare the losses of a training program under several meshes and
# layouts with the losses of one rank. Before that, the script sets `program` (a name in examples/),
# `steps`, and the array `training` with the program's options. This file defines the functions
# below and trains on one rank, whose losses become the reference.
set -euo pipefail

# shellcheck source=tests/support/largest_difference.sh
. "$ASHLAR_SOURCE_DIR/tests/support/largest_difference.sh"
mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
program="$ASHLAR_BINARY_DIR/examples/$program"
[ -x "$program" ] || { echo "no ${program##*/} was built"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# losses <ranks> <mesh> [layout]: runs the program and writes a line for each step to $work/losses.
losses() {
  "$mpiexec" -n "$1" "$program" "${training[@]}" --steps "$steps" --exact-log --mesh "$2" \
    ${3:+--layout "$3"} | grep '^loss' >"$work/losses"
  [ "$(wc -l <"$work/losses")" -eq "$steps" ] || { echo "$*: not $steps losses"; exit 1; }
}

# compare <ranks> <mesh> [layout]: fails unless each loss agrees with the reference within a
# relative difference of 1e-4. Does nothing if there are more ranks than tests may have.
compare() {
  [ "$1" -le "${ASHLAR_TEST_MAX_RANKS:-8}" ] || return 0
  losses "$@"
  largest_difference "$work/reference" "$work/losses" 1e-4 "$*"
}

losses 1 gpu=1 data
cp "$work/losses" "$work/reference"
