#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/pipeline.md: builds bench/pipeline, runs it, and writes the table.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
page_options "Usage: bench/run_pipeline.sh [--quick] [--report] [-h]
Takes about one minute on two cores. Run nothing else meanwhile. It runs four ranks, too, if there
are four cores.
  --quick    measures three turns instead of 15, writes figures into the build folder, and prints
             the table instead of writing the page
  --report   runs nothing, and writes table and page from the existing figures" "$@"

build=build/default
page=bench/results/pipeline.md
figures=bench/results/pipeline
turns=15
if [ "$quick" = yes ]; then figures="$build/bench/pipeline_figures" turns=3; fi
mkdir -p "$figures"
# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh

if [ "$report_only" = no ]; then
  cmake --preset default -DASHLAR_PROGRAM_OPTIONS=
  cmake --build --preset default --target bench_pipeline
  rm -f "$figures/steps.csv"
  for ranks in 2 4; do
    [ "$ranks" -le "$(nproc --all)" ] || continue
    mpirun -n "$ranks" "$build/bench/pipeline" --trials "$turns" --csv "$figures/steps.csv"
  done
  printf '%s, %s cores of %s, %s; medians of %s turns.\n' \
    "$(LC_ALL=C date '+%d %B %Y')" "$(nproc --all)" \
    "$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)" \
    "$(g++ --version | head -n 1)" "$turns" >"$figures/machine.txt"
fi

table() {
  case "$1" in
    machine) cat "$figures/machine.txt" ;;
    steps)
      awk -F, '
        NR == 1 {
          for (i = 1; i <= NF; ++i) c[$i] = i
          print "| ranks, net | schedule | of independent | of waiting | of 1F1B | of the replay | bubble | replayed bubble | others |"
          print "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
          next
        }
        $c["schedule"] == "independent" { next }
        {
          printf "| %s %s | %s | %s | %s | %s | %s | %.1f %% | %.1f %% | %s %% |\n",
            $c["ranks"], $c["net"], $c["schedule"], $c["of_independent"], $c["of_waiting"],
            $c["of_1f1b"], $c["of_replay"], 100 * $c["bubble"], 100 * $c["replay_bubble"], $c["others"]
        }' "$figures/steps.csv"
      ;;
  esac
}

if [ "$quick" = yes ]; then
  table steps
else
  replace_page "$page"
fi
