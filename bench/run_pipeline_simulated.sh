#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the tables of bench/results/pipeline_simulated.md: simulates training steps of pipelines
# on clusters.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: bench/run_pipeline_simulated.sh [--only NAME]... [--timeout SECONDS] [--report] [-h]
Builds the programs, simulates all steps (needs SimGrid), and writes the tables.
  --only NAME         simulates only the steps whose figures are in the file NAME.txt; may be given
                      several times
  --timeout SECONDS   the maximum number of seconds of one simulation (default 1800)
  --report            simulates nothing, and writes the tables from the figures of the last run
The names: grid_2 grid_4 grid_8 grid_32 grid_32_dual gpt_4_1_2 gpt_2_2_2 u_transformer_4
u_transformer_32 u_transformer_kept
TEXT
}
refuse() {
  printf 'bench/run_pipeline_simulated.sh: %s\n' "$1" >&2
  usage >&2
  exit 2
}

names=" grid_2 grid_4 grid_8 grid_32 grid_32_dual gpt_4_1_2 gpt_2_2_2 u_transformer_4 u_transformer_32 \
u_transformer_kept "
only=' ' timeout=1800 report=no
while [ $# -gt 0 ]; do
  case "$1" in
    --report) report=yes ;;
    --only | --timeout)
      [ $# -gt 1 ] || refuse "$1 needs a value"
      if [ "$1" = --timeout ]; then timeout="$2"; else only+="$2 "; fi
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) refuse "unknown option $1" ;;
  esac
  shift
done
for name in $only; do
  case "$names" in *" $name "*) ;; *) refuse "there are no figures $name" ;; esac
done
[[ "$timeout" =~ ^[1-9][0-9]*$ ]] || refuse "--timeout $timeout is not a number of seconds"

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
build=build/default/tests
page=bench/results/pipeline_simulated.md
figures=bench/results/pipeline_simulated
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# simulate <name> <program> <argument>...: simulates a program and writes the lines with figures to
# NAME.txt. Does nothing if --only is given without this name. If the program fails, the file stays
# as it was.
simulate() {
  local name="$1" program="$2"
  case "$only" in ' ' | *" $name "*) ;; *) return 0 ;; esac
  shift 2
  tests/smpi/simulate.sh --timeout "$timeout" "$build/smpi_platform" "$1" "$2" "$build/smpi_$program" \
    "${@:3}" | tee /dev/stderr | grep -E ' [0-9.]+ +[0-9.]+$' >"$work/$name.txt"
  mv "$work/$name.txt" "$figures/$name.txt"
}

if [ "$report" = no ]; then
  cmake --preset default
  targets=(smpi_platform)
  for program in pipeline:grid pipeline_gpt:gpt pipeline_u_transformer:u_transformer; do
    case "$only" in ' ' | *" ${program#*:}_"*) targets+=("build_smpi_${program%:*}") ;; esac
  done
  cmake --build --preset default --target "${targets[@]}"
  mkdir -p "$figures"
  for parts in 2 4 8; do
    simulate "grid_$parts" pipeline "stage=$parts" pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75
  done
  simulate gpt_4_1_2 pipeline_gpt node=2,gpu=4 slow:p3_8xlarge 1 16
  simulate gpt_2_2_2 pipeline_gpt node=2,data=2,operator=2 slow:p3_8xlarge 2 16
  simulate grid_32 pipeline node=32,gpu=8 bandwidth 32 0.25
  simulate grid_32_dual pipeline node=32,gpu=8 bandwidth 64 0.25 dual_pipe_v
  u_transformer() {  # u_transformer <name> <argument>...
    simulate "u_transformer_$1" pipeline_u_transformer node=2,gpu=4 slow:p3_8xlarge "${@:2}"
  }
  u_transformer 4 4 1
  u_transformer 32 32 1
  u_transformer kept 32 0
fi

# rows <column> <name>: prints the rows of the file NAME.txt. <column> is the text of their first
# column. The last two columns are the speed relative to Signal, which sends almost nothing, and the
# speed relative to Alpa.
rows() {
  awk -v first="$1" '{n = NF; s = $1; for (i = 2; i < n - 1; ++i) s = s " " $i
    name[NR] = s; seconds[NR] = $(n - 1); of_signal[NR] = $n
    if (s ~ /alpa/) alpa = $(n - 1)}
    END {for (k = 1; k <= NR; ++k)
      printf "| %s | %s | %s | %.1f %% | %.2f |\n", first, name[k], seconds[k], 100 * of_signal[k], alpa / seconds[k]}' \
    "$figures/$2.txt"
}

head=$(sed '/^<!-- tables -->$/q' "$page")
{
  printf '%s\n\n' "$head"
  echo "| GPT (data, operator, pipeline) | transfers | seconds | speed of Signal | times Alpa |"
  echo "| --- | --- | --- | --- | --- |"
  for case in 4_1_2 2_2_2; do rows "(${case//_/, })" "gpt_$case"; done
  printf '\n| U-Transformer, micro-batches | transfers | seconds | speed of Signal | times Alpa |\n'
  echo "| --- | --- | --- | --- | --- |"
  for batches in 4 32; do rows "$batches" "u_transformer_$batches"; done
  rows "32, nothing recomputed" u_transformer_kept
  printf '\n| schedule | parts | micro-batches | transfer / (F + B) | replay | SMPI | SMPI / replay | bound |\n'
  echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
  for name in gpipe 1f1b eager searched interleaved zb_h1 zb_h2 delayed zb_v dual_pipe_v; do
    sort -s -n -k 2,2 "$figures"/grid_*.txt | awk -v name="$name" '$1 == name {
      printf "| %s | %d | %d | %g | %.2f | %.2f | %.3f | %.2f |\n", $1, $2, $3, $4, $5 / 3000, $6 / 3000, $7, $8 / 3000}'
  done
} >"$work/page.md"
mv "$work/page.md" "$page"
