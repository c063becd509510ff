#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the figures of bench/results/ranking.md: the predicted and the measured communication
# times of 30 strategies for a GPT and for a perceptron, on real ranks and on simulated clusters.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: bench/run_ranking.sh [--real] [--simulated] [--report] [-h]
Without an option it builds the programs and runs all parts, which takes about eight minutes on two
cores. Run nothing else meanwhile.
  --real        runs only 4 and 8 real ranks: calibrates with as many ranks, then measures
  --simulated   runs only 16 and 64 simulated ranks (needs SimGrid)
  --report      runs nothing, and writes tables and plots from the existing figures
TEXT
}

real=no simulated=no
for option in "$@"; do
  case "$option" in
    --real) real=yes ;;
    --simulated) simulated=yes ;;
    --report) ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'bench/run_ranking.sh: unknown option %s\n' "$option" >&2; usage >&2; exit 2 ;;
  esac
done
if [ $# -eq 0 ]; then real=yes simulated=yes; fi

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
build=build/default
figures=bench/results/ranking
mkdir -p "$figures"
# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh

if [ "$real" = yes ]; then
  cmake --preset default
  cmake --build --preset default --target bench_calibrate bench_ranking
  rm -f "$figures"/real.csv
  for ranks in 4 8; do
    # The calibration runs as many ranks as the measurement after it, on the same cores, because the
    # latency α includes the wait for a core.
    mpirun -n "$ranks" "$build/bench/calibrate" --out "$build/bench/ranking_$ranks.json"
    mpirun -n "$ranks" "$build/bench/ranking" --machine "$build/bench/ranking_$ranks.json" \
      --scale 8 --csv "$figures/real.csv"
  done
fi

if [ "$simulated" = yes ]; then
  cmake --preset default
  cmake --build --preset default --target smpi_platform build_smpi_ranking
  rm -f "$figures"/simulated.csv
  # The simulation of the GPT on 64 ranks takes two minutes.
  for run in "16 node=4,gpu=4 mlp" "16 node=2,gpu=8 gpt" "64 node=8,gpu=8 mlp" "64 node=8,gpu=8 gpt"; do
    read -r ranks mesh net <<<"$run"
    tests/smpi/simulate.sh --timeout 900 "$build/tests/smpi_platform" "$mesh" gpu_cluster \
      "$build/tests/smpi_ranking" "$net" 30 |
      awk -v run="$ranks,$net,${mesh/,/ }" '/^ *[0-9.]+ +[0-9.]+ +[0-9.]+$/ {print run "," n++ "," $1 "," $2}' \
        >>"$figures/simulated.csv"
  done
fi

# points <ranks> <net> <file>: prints the predicted and the measured times of the strategies, which
# become the data of one plot. <file> is real or simulated.
points() { awk -F, -v ranks="$1" -v net="$2" -v file="$3" '
  file == "real" && $1 == ranks && $4 == net {print $7, $8}
  file == "simulated" && $1 == ranks && $2 == net {print $5, $6}' "$figures/$3.csv"; }

# spearman: prints Spearman's correlation of two columns, and the position of the first line when
# the lines are sorted by the second column.
spearman() { awk '
  {x[NR] = $1; y[NR] = $2}
  function place(v, n, i,   j, less, same) {
    for (j = 1; j <= n; ++j) { less += v[j] < v[i]; same += v[j] == v[i] }
    return less + (same + 1) / 2
  }
  END {
    for (i = 1; i <= NR; ++i) {
      a = place(x, NR, i) - (NR + 1) / 2; b = place(y, NR, i) - (NR + 1) / 2
      ab += a * b; aa += a * a; bb += b * b; first += y[i] < y[1]
    }
    if (aa * bb > 0) printf "%.3f | %d", ab / sqrt(aa * bb), first + 1; else printf "- | -"
  }'; }

{
echo "| ranks | net | strategies | Spearman | the chosen plan is number |"
echo "| --- | --- | --- | --- | --- |"
for file in simulated real; do
  [ -s "$figures/$file.csv" ] || continue
  for ranks in 4 8 16 64; do
    for net in gpt mlp; do
      points "$ranks" "$net" "$file" >"$figures/${file}_${ranks}_$net.dat"
      n="$(wc -l <"$figures/${file}_${ranks}_$net.dat")"
      if [ "$n" -eq 0 ]; then rm "$figures/${file}_${ranks}_$net.dat"; continue; fi
      echo "| $ranks $file | $net | $n | $(spearman <"$figures/${file}_${ranks}_$net.dat") |"
    done
  done
done
} | tee "$figures/table.md"

if command -v gnuplot >/dev/null 2>&1; then
  for data in "$figures"/*.dat; do
    gnuplot -e "set terminal svg size 420,360; set output '${data%.dat}.svg'; set logscale xy;
      set xlabel 'predicted us'; set ylabel 'measured us'; set key off; set size square;
      set title '$(basename "$data" .dat | tr _ ' ') '; plot '$data' pointtype 7 pointsize 0.5,
      x with lines linecolor 'gray'"
  done
else
  echo "gnuplot not found: no plots"
fi
rm -f "$figures"/*.dat
