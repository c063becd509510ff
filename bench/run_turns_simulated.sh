#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the tables of bench/results/turns.md: simulates trainers whose micro-batches take turns,
# on clusters of 8 to 64 ranks.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
# shellcheck disable=SC2154 # page_options sets quick and report_only.
page_options "Usage: bench/run_turns_simulated.sh [--quick] [--report] [-h]
Builds tests/smpi/turns.cpp, simulates all steps (about half an hour of one core, needs SimGrid),
and writes the tables. A step whose file in bench/results/turns exists is not simulated again;
delete the file to simulate the step again.
  --quick    simulates only 8 ranks, most plans with one ratio of work to communication, which takes
             a minute, writes figures into the build folder, and prints three of the tables instead
             of writing the page
  --report   simulates nothing, and writes the page from the existing figures
If ASHLAR_SMPI_BUILD names the folder tests of a build, its programs are used and nothing is
built." "$@"

build="${ASHLAR_SMPI_BUILD:-build/default/tests}"
page=bench/results/turns.md
figures=bench/results/turns
flat=("a=2,b=4" "a=2,b=8" "a=4,b=4" "a=8,b=8")
tiers=("node=2,gpu=4" "node=2,gpu=8" "node=4,gpu=4" "node=8,gpu=8")
subjects=("gpt tensor" "moe tensor" "moe experts")
if [ "$quick" = yes ]; then
  figures=build/default/bench/turns_figures
  flat=("a=2,b=4") tiers=("node=2,gpu=4")
fi
mkdir -p "$figures"

# simulate <name> <mesh> <argument>...: simulates a run and writes its figures to NAME.txt. Does
# nothing if this file has figures already.
simulate() {
  local name="$1" mesh="$2" status=0
  shift 2
  [ ! -s "$figures/$name.txt" ] || return 0
  tests/smpi/simulate.sh --timeout 3000 "$build/smpi_platform" "$mesh" bandwidth \
    "$build/smpi_turns" "$@" >"$figures/$name.log" || status=$?
  # The program fails if a figure is outside its tolerance. The figures are complete even then.
  grep -q 'checks on rank 0' "$figures/$name.log" || {
    printf '%s: no figures (exit code %s)\n' "$name" "$status" >&2
    tail -n 3 "$figures/$name.log" >&2
    return 1
  }
  grep -E '^ +[0-9]|^Spearman|^wrong' "$figures/$name.log" >"$figures/$name.txt"
  rm "$figures/$name.log"
}

# simulate_mesh <mesh>: simulates the steps on one mesh, for several ratios of work to
# communication. The program divides a step into pieces, and transfers progress only between two
# pieces. On more than 8 ranks a step takes minutes to simulate, so meshes of more than 8 ranks have
# fewer ratios, and their steps have fewer pieces.
simulate_mesh() {
  local mesh="$1" subject pieces=2000 ratios=(4 2 1 0.5 0.25)
  case "$mesh" in
    "a=8,b=8" | "node=8,gpu=8") pieces=1000 ratios=(1) ;;
    "a=2,b=4" | "node=2,gpu=4") ;;
    *) pieces=1500 ratios=(4 1 0.25) ;;
  esac
  [ "$quick" = no ] || ratios=(1)
  for subject in "${subjects[@]}"; do
    # shellcheck disable=SC2086 # A subject is two arguments.
    simulate "${mesh//,/_}_${subject/ /_}" "$mesh" $subject "$pieces" "${ratios[@]}"
  done
}

if [ "$report_only" = no ]; then
  if [ -z "${ASHLAR_SMPI_BUILD:-}" ]; then
    cmake --preset default
    cmake --build --preset default --target smpi_platform build_smpi_turns
  fi
  for mesh in "${flat[@]}" "${tiers[@]}"; do simulate_mesh "$mesh"; done
  for subject in "moe tensor" "moe experts"; do
    # shellcheck disable=SC2086
    simulate "queued_${flat[0]//,/_}_${subject/ /_}" "${flat[0]}" $subject 2000 4 1 0.25 queued
  done
  simulate "routed_${flat[0]//,/_}" "${flat[0]}" moe experts 2000 1 routed
  if [ "$quick" = no ]; then
    simulate strategies_flat_gpt a=2,b=4 gpt strategies 500 1
    simulate strategies_tiers_moe node=2,gpu=4 moe strategies 500 1
  fi
fi

# steps <prefix> <mesh>...: prints a table with a row for each step.
steps() {
  local prefix="$1" mesh subject file
  shift
  echo "| mesh | net, plan | work : comm. | turns | timeline ms | SMPI ms | SMPI / timeline | gain | gain, SMPI |"
  echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
  for mesh in "$@"; do
    for subject in "${subjects[@]}"; do
      file="$figures/$prefix${mesh//,/_}_${subject/ /_}.txt"
      [ ! -s "$file" ] || awk -v first="$mesh | $subject" '/^ +[0-9]/ {
        printf "| %s | %s | %d | %.2f | %.2f | %.3f | %s | %s |\n", first, $1, $2, $3 / 1e3, $4 / 1e3, $5,
          $2 == 1 ? "" : sprintf("%.1f %%", 100 * $7), $2 == 1 ? "" : sprintf("%.1f %%", 100 * $8)}' "$file"
    done
  done
}

table() {
  case "$1" in
    flat) steps "" "${flat[@]}" ;;
    tiers) steps "" "${tiers[@]}" ;;
    queued) steps queued_ "${flat[0]}" ;;
    routed)
      echo "| turns | timeline ms | SMPI ms | SMPI / timeline |"
      echo "| --- | --- | --- | --- |"
      awk '/^ +[0-9]/ {printf "| %d | %.2f | %.2f | %.3f |\n", $2, $3 / 1e3, $4 / 1e3, $5}' \
        "$figures/routed_${flat[0]//,/_}.txt"
      ;;
    strategies)
      echo "| mesh, net | strategies | SMPI / timeline | Spearman |"
      echo "| --- | --- | --- | --- |"
      local name
      for name in "flat_gpt:a=2,b=4 gpt" "tiers_moe:node=2,gpu=4 moe"; do
        [ ! -s "$figures/strategies_${name%%:*}.txt" ] || awk -v first="${name#*:}" '
          /^Spearman/ {printf "| %s | %d | %.3f to %.3f | %s |\n", first, n, least, most, $2; next}
          {++n; if (n == 1 || $4 < least) least = $4; if ($4 > most) most = $4}' \
          "$figures/strategies_${name%%:*}.txt"
      done
      ;;
  esac
}

if [ "$quick" = yes ]; then
  for words in flat tiers queued; do table "$words"; done
else
  replace_page "$page"
fi
