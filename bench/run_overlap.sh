#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/overlap.md: builds and runs bench/overlap, and writes the tables.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
page_options "Usage: bench/run_overlap.sh [--quick] [--report] [-h]
Takes about ten minutes on two cores. Run nothing else meanwhile. It runs four ranks, too, if there
are four cores.
  --quick    makes three runs of smaller nets, which takes two minutes, writes figures into the
             build folder, and prints the tables instead of writing the page
  --report   runs nothing, and writes tables and page from the existing figures" "$@"

build=build/default
page=bench/results/overlap.md
figures=bench/results/overlap
# bench/overlap delays every transfer artificially, and the time of the real transport comes on top.
# The sizes make the time of the real transport short compared with the computation: the plan that
# communicates gradients (data) gets many rows, and the plan that communicates activations (tensor)
# gets wide layers.
# shellcheck disable=SC2034  # The two arrays are used by name below.
rounds=9 data=(--rows 2048 --width 256) tensor=(--rows 256 --width 1024)
if [ "$quick" = yes ]; then
  figures="$build/bench/overlap_figures" rounds=3
  # shellcheck disable=SC2034
  data=(--rows 1024 --width 128) tensor=(--rows 128 --width 512)
fi
mkdir -p "$figures"
# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh

if [ "$report_only" = no ]; then
  cmake --preset default -DASHLAR_PROGRAM_OPTIONS=
  cmake --build --preset default --target bench_overlap
  rm -f "$figures"/{held_back,plain,asleep}.csv
  for ranks in 2 4; do
    [ "$ranks" -le "$(nproc --all)" ] || continue
    for plan in data tensor; do
      declare -n sizes="$plan"
      mpirun -n "$ranks" "$build/bench/overlap" --plans "$plan" "${sizes[@]}" --rounds "$rounds" \
        --csv "$figures/held_back.csv" --plain "$figures/plain.csv"
      mpirun -n "$ranks" "$build/bench/overlap" --plans "$plan" "${sizes[@]}" --rounds "$rounds" \
        --asleep --csv "$figures/asleep.csv"
    done
  done
  printf '%s, %s cores of %s, %s; medians of %s alternating runs.\n' \
    "$(LC_ALL=C date '+%d %B %Y')" "$(nproc --all)" \
    "$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)" \
    "$(g++ --version | head -n 1)" "$rounds" >"$figures/machine.txt"
fi

table() {
  case "$1" in
    machine) cat "$figures/machine.txt" ;;
    held_back | asleep)
      awk -F, '
        NR == 1 {
          for (i = 1; i <= NF; ++i) c[$i] = i
          print "| ranks, net, plan | comm. / work | serial, of the timeline | step, of the timeline | exposed ms | timeline ms | exposed, of the timeline | serial / step | others |"
          print "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
          next
        }
        {
          work = $c["timeline_s"] - $c["timeline_exposed_s"]
          printf "| %s %s %s | %.2f | %.3f | %.3f | %.1f | %.1f | %.2f | %.2f | %s %% |\n",
            $c["ranks"], $c["net"], $c["plan"], $c["communication_s"] / work,
            $c["serial_s"] / $c["serial_timeline_s"], $c["step_s"] / $c["timeline_s"],
            1e3 * $c["exposed_s"], 1e3 * $c["timeline_exposed_s"],
            $c["exposed_s"] / $c["timeline_exposed_s"], $c["serial_s"] / $c["step_s"], $c["others"]
        }' "$figures/$1.csv"
      ;;
    plain)
      awk -F, '
        NR == 1 {
          print "| ranks, net, plan | as planned | forced | others |"
          print "| --- | --- | --- | --- |"
          next
        }
        {printf "| %s %s %s | %s%s | %s | %s %% |\n", $1, $2, $3, $4, $5 == "yes" ? " (the same program)" : "", $6, $7}
      ' "$figures/plain.csv"
      ;;
  esac
}

if [ "$quick" = yes ]; then
  table held_back
  table asleep
  table plain
else
  replace_page "$page"
fi
