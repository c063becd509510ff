#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/crossing.md. On simulated nodes, tests/smpi/crossing.cpp repeats
# figures 5, 6 and 8 of the paper on cross-mesh resharding (Zhuang et al. 2022). bench/crossing
# compares algorithms that order the tasks of a crossing.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
page_options "Usage: bench/run_crossing.sh [--quick] [--report] [-h]
Takes about five minutes on one core and needs SimGrid.
  --quick    uses smaller tensors and fewer orders, which takes a minute, and writes into the build
             folder, not into the page
  --report   runs nothing, and writes tables and page from the existing figures" "$@"

build=build/default
page=bench/results/crossing.md
figures=bench/results/crossing
part=16 large=100
if [ "$quick" = yes ]; then figures="$build/bench/crossing_figures" part=512 large=10; fi
mkdir -p "$figures"

if [ "$report_only" = no ]; then
  cmake --preset default
  cmake --build --preset default --target smpi_platform build_smpi_crossing bench_crossing
  tests/smpi/simulate.sh --timeout 1800 "$build/tests/smpi_platform" node=5,gpu=4 \
    "p3_8xlarge/$part" "$build/tests/smpi_crossing" "$part" \
    1x1 1x2 1x3 1x4 2x2 3x2 4x2 1 2 3 4 5 6 7 8 9 | tee "$figures/output.txt"
  {
    echo "what,strategy,units,bytes"
    grep -E '^([0-9]x[0-9]|case [0-9]),' "$figures/output.txt"
  } >"$figures/simulated.csv"
  sed -nE 's/^# (.*): simulated \/ planned ([0-9.]+), ([0-9]+) chunks$/\1,\2,\3/p' \
    "$figures/output.txt" >"$figures/planned.csv"
  rm -f "$figures/output.txt" "$figures"/{orders,plans}.csv
  "$build/bench/crossing" --large "$large" --csv "$figures/orders.csv" --plans "$figures/plans.csv"
  printf '%s, CPU time on one of %s cores of %s, %s.\n' "$(LC_ALL=C date '+%d %B %Y')" "$(nproc)" \
    "$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)" \
    "$(g++ --version | head -n 1)" >"$figures/machine.txt"
fi

# simulated <awk program>: runs an awk program as a BEGIN block. The figures are in the arrays
# units["WHAT,STRATEGY"], bytes["WHAT,STRATEGY"], planned[WHAT] and chunks[WHAT].
simulated() {
  awk -F, -v planned_file="$figures/planned.csv" -v simulated_file="$figures/simulated.csv" '
    function read(   f) {
      while ((getline < planned_file) > 0) { planned[$1] = $2; chunks[$1] = $3 }
      while ((getline < simulated_file) > 0) { units[$1 "," $2] = $3; bytes[$1 "," $2] = $4 }
    }
    function cell(what, strategy) { return sprintf(" %.3f |", units[what "," strategy]) }
    BEGIN { read(); '"$1"' }' </dev/null
}

figure_5() {
  simulated '
    print "| receiving mesh | ours | chunks | simulated / planned | broadcast, 100 chunks | local all-gather | formula | global all-gather | formula | send/recv | formula |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    split("1x1 1x2 1x3 1x4 2x2 3x2 4x2", meshes, " ")
    for (i = 1; i <= 7; ++i) {
      m = meshes[i]; split(m, n, "x"); ranks = n[1] * n[2]
      printf "| %d x %d |%s %d | %.3f |%s%s %d |%s %.3f |%s %d |\n", n[1], n[2], cell(m, "ours"),
        chunks[m], planned[m], cell(m, "broadcast"), cell(m, "local all-gather"), n[1],
        cell(m, "global all-gather"), n[1] == 1 ? 1 : 2 - 1 / ranks, cell(m, "send/recv"), ranks
    }'
}

# The nine cases of table 2 of the paper. For each case:
# - bound: the lower bound of the time, in the unit of the simulated times
# - paper: the speedup of the paper's order over the all-gathers, as the paper states it
# - naive, balanced: the computed times of two simple orders
# - specs, meshes: the sharding specs and the meshes of sender and receiver
cases='
    split("1/2 1/2 1/2 1/2 1/2 1/2 1 1 1/2", bound, " ")
    split("alike;alike;3 to 10;3 to 10, the most;alike;alike;up to 2.5;up to 2.5;3 to 10", paper, ";")
    split("1/2 1 3/4 15/16 1 1 1 1 3/4", naive, " ")
    split("1/2 1/2 3/4 15/16 3/4 2/3 1 1 3/4", balanced, " ")
    split("S^0RR > S^0RR;RRR > S^0RR;RS^0R > S^0RR;RS^01R > S^01RR;S^1RR > S^0RR;S^0RR > S^0RR;S^1RR > RRR;RRR > RRR;RS^0R > RRS^0", specs, ";")
    split("2x4 > 2x4;2x4 > 2x4;2x4 > 2x4;2x4 > 2x4;2x4 > 2x4;2x4 > 3x4;1x4 > 2x4;2x3 > 3x2;2x4 > 2x4", meshes, ";")'

figure_6() {
  simulated '
    print "| case | specs | meshes | bound | ours | ours / bound | local all-gather | all at once | global all-gather | send/recv | best all-gather / ours | worst all-gather / ours | paper |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    '"$cases"'
    for (i = 1; i <= 9; ++i) {
      c = "case " i; ours = units[c ",ours"]; best = worst = units[c ",local all-gather"]
      split("local all-gather at once,global all-gather", others, ",")
      for (k = 1; k <= 2; ++k) {
        other = units[c "," others[k]]
        if (other < best) best = other
        if (other > worst) worst = other
      }
      split(bound[i], f, "/"); least = f[1] / (f[2] == "" ? 1 : f[2])
      printf "| %d | %s | %s | %s |%s %.3f |%s%s%s%s %.2f | %.2f | %s |\n", i, specs[i], meshes[i], bound[i],
        cell(c, "ours"), ours / least, cell(c, "local all-gather"), cell(c, "local all-gather at once"),
        cell(c, "global all-gather"), cell(c, "send/recv"), best / ours, worst / ours, paper[i]
    }'
}

figure_8() {
  simulated '
    print "| case | naive | computed | load balance only | computed | ours | bound |"
    print "| --- | --- | --- | --- | --- | --- | --- |"
    '"$cases"'
    for (i = 1; i <= 9; ++i) {
      c = "case " i
      printf "| %d |%s %s |%s %s |%s %s |\n", i, cell(c, "naive"), naive[i], cell(c, "balanced"),
        balanced[i], cell(c, "ours"), bound[i]
    }'
}

traffic() {
  simulated '
    print "| | ours | local all-gather | global all-gather | send/recv |"
    print "| --- | --- | --- | --- | --- |"
    split("1x4,4x2,case 1,case 2,case 3,case 4,case 5,case 6,case 7,case 8,case 9", rows, ",")
    for (i = 1; i <= 11; ++i) {
      r = rows[i]
      printf "| %s | %.3f | %.3f | %.3f | %.3f |\n", r, bytes[r ",ours"], bytes[r ",local all-gather"],
        bytes[r ",global all-gather"], bytes[r ",send/recv"]
    }'
}

orders() {
  awk -F, '
    NR == 1 {
      print "| problems | algorithm | at the bound | median gap | largest gap | median ms | largest ms |"
      print "| --- | --- | --- | --- | --- | --- | --- |"
      next
    }
    {
      first = $1 != set; set = $1
      printf "| %s | %s | %d of %d | %s %% | %s %% | %s | %s |\n", first ? set : "", $2, $4, $3, $5, $6, $7, $8
    }' "$figures/orders.csv"
}

plans() {
  awk -F, '
    NR == 1 {
      print "| meshes | pairs of placements | median ms | 95 % below | largest ms |"
      print "| --- | --- | --- | --- | --- |"
      next
    }
    { printf "| %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5 }' "$figures/plans.csv"
}

# table <word>: prints the table that replaces the marker with this word in the page
# (bench/support/page.sh).
table() {
  case "$1" in
    machine) cat "$figures/machine.txt" ;;
    *) "$1" ;;
  esac
}

write_page "$page" "$figures/page.md"
if [ "$quick" = no ]; then mv "$figures/page.md" "$page"; else page="$figures/page.md"; fi
printf 'Tables: %s\n' "$page"
