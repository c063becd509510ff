#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/search.md: builds bench/search, runs it, and writes tables and
# plots.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
page_options "Usage: bench/run_search.sh [--quick] [--report] [-h]
Takes about four minutes on one core. Run nothing else meanwhile.
  --quick    makes fewer and shorter runs, which takes a minute, and writes into the build folder,
             not into the page
  --report   runs nothing, and writes tables, plots and page from the existing figures" "$@"

build=build/default
page=bench/results/search.md
figures=bench/results/search
runs=10 seconds=0.4
if [ "$quick" = yes ]; then figures="$build/bench/search_figures" runs=3 seconds=0.1; fi
mkdir -p "$figures"

if [ "$report_only" = no ]; then
  cmake --preset default
  cmake --build --preset default --target bench_search
  rm -f "$figures"/{table,curves,noise,limited,pipelines}.csv
  # Computing the tables of costs for a mesh of three axes takes long, so such a mesh gets fewer
  # runs.
  for part in "rack=8,node=8 $runs" "rack=4,node=4,host=4 $((runs / 2))"; do
    "$build/bench/search" --meshes "${part% *}" --runs "${part#* }" --seconds "$seconds" \
      --csv "$figures/table.csv" --curves "$figures/curves.csv"
  done
  for preset in piz_daint a100_server h200_server; do
    "$build/bench/search" --noise "$((20 * runs))" --machine "$preset" --csv "$figures/noise.csv" \
      --meshes rack=8,node=8 node=2,gpu=8 node=4,gpu=4
  done
  "$build/bench/search" --limited "$runs" --machine h200_server --csv "$figures/limited.csv"
  "$build/bench/search" --pipelines --machine h200_server --csv "$figures/pipelines.csv"
  printf '%s, one of %s cores of %s, %s; %s and %s runs of %s s.\n' "$(LC_ALL=C date '+%d %B %Y')" \
    "$(nproc)" "$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)" \
    "$(g++ --version | head -n 1)" "$runs" $((runs / 2)) "$seconds" >"$figures/machine.txt"
fi

# table_of <mesh>: prints the table of a mesh as Markdown. The rows of a net are consecutive, and
# only the first of them shows the net's name.
table_of() {
  awk -F, -v mesh="$1" '
    NR == 1 {
      for (i = 1; i <= NF; ++i) c[$i] = i
      print "| net | layers, plans, time of exact | algorithm | tables | within 3 % | optimum | reached | gap | worst |"
      print "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
      next
    }
    $c["mesh"] == mesh {
      first = $c["net"] != net
      net = $c["net"]
      name = $c["algorithm"]
      gsub("_", " ", name)
      sub("metropolis hastings", "Metropolis-Hastings", name)
      if (name == "exhaustive") name = name ($c["ended"] == "yes" ? ", all in " $c["time"] : ", unfinished")
      printf "| %s | %s | %s | %s | %s | %s | %s | %s %% | %s %% |\n", first ? net : "",
        first ? $c["layers"] ", 10^" $c["plans_log10"] ", " $c["exact_ms"] " ms" : "", name, $c["tables"], $c["time_to_3_percent"],
        $c["time_to_optimum"], $c["reached"], $c["gap_percent"], $c["worst_gap_percent"]
    }' "$figures/table.csv"
}

# noise: prints how much more than the optimum a plan costs if it was searched with wrong parameters
# of the machine. The first table has a row for each net and mesh. Below it are a line that names
# the cells above 102 % and a table with a row for each kind of error.
noise() {
  awk -F, '
    NR == 1 { next }
    {
      key = $1 "|" $2
      if (!(key in seen)) { seen[key] = ++rows; name[rows] = $1 " | " $2 }
      if (!($3 in column)) { column[$3] = ++columns; machine[columns] = $3 }
      if ($4 == 20 && $5 == "collectives") {
        ++cells
        if ($7 > 2) dear = dear sprintf("%s%s, %s, %s: %.2f %%", dear == "" ? "" : "; ", $1, $2, $3, 100 + $7)
        cell[seen[key], column[$3]] = $7 " / " $9 " / " $10 ", " $11
      }
      sum[$4 " % in " $5] += $7; above[$4 " % in " $5] += $11; trials[$4 " % in " $5] += $6
      count[$4 " % in " $5]++
    }
    END {
      line = "| net | mesh |"; rule = "| --- | --- |"
      for (c = 1; c <= columns; ++c) { line = line " " machine[c] " |"; rule = rule " --- |" }
      print line; print rule
      for (r = 1; r <= rows; ++r) {
        line = "| " name[r] " |"
        for (c = 1; c <= columns; ++c) line = line " " cell[r, c] " |"
        print line
      }
      printf "\nRelative time (the mean of a cell, HiDup'\''s measure) above 102 %%, of %d cells: %s.\n", cells,
        dear == "" ? "none" : dear
      print ""; print "| noise | mean over all | trials above 2 % |"; print "| --- | --- | --- |"
      split("20 % in tiers;20 % in collectives;50 % in collectives", kinds, ";")
      for (k = 1; k <= 3; ++k)
        printf "| %s | %.2f %% | %d of %d |\n", kinds[k], sum[kinds[k]] / count[kinds[k]],
          above[kinds[k]], trials[kinds[k]]
    }' "$figures/noise.csv"
}

# limited: prints one row for the search without a memory limit, and one for the search under it.
limited() {
  awk -F, '
    NR == 1 {
      print "| net | mesh | machine | limit | time | step | memory | gap |"
      print "| --- | --- | --- | --- | --- | --- | --- | --- |"
      next
    }
    {
      printf "| %s | %s | %s | %s | %s / %s ms | %s s | %s GB | %s %% |\n", $1, $2, $3,
        $4 == "-" ? "none" : $4 " GB", $5, $6, $7, $8, $9
    }' "$figures/limited.csv"
}

# pipelines: prints one row for each search for a pipeline under a memory limit.
pipelines() {
  awk -F, '
    NR == 1 {
      print "| searched | time | step | plan | memory | gap |"
      print "| --- | --- | --- | --- | --- | --- |"
      next
    }
    { printf "| %s | %s s | %s s | %s | %s GB | %s %% |\n", $5, $6, $7, $8, $9, $10 }' \
    "$figures/pipelines.csv"
}

# table <word>...: prints the table that replaces the marker with these words in the page
# (bench/support/page.sh). A mesh is written as one word for each axis.
table() {
  case "$1" in
    machine) cat "$figures/machine.txt" ;;
    noise) noise ;;
    limited) limited ;;
    pipelines) pipelines ;;
    *) table_of "$*" ;;
  esac
}

write_page "$page" "$figures/page.md"
if command -v gnuplot >/dev/null 2>&1; then
  gnuplot -e "folder='$figures'" bench/results/search.gp
else
  echo "gnuplot not found: no plots"
fi
if [ "$quick" = no ]; then mv "$figures/page.md" "$page"; else page="$figures/page.md"; fi
printf 'Tables: %s, plots beside the figures in %s\n' "$page" "$figures"
