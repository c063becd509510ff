#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/hidup.md: builds and runs bench/hidup, and writes tables with its
# figures beside the figures of the HiDup paper.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
page_options "Usage: bench/run_hidup.sh [--quick] [--report] [-h]
Takes about six minutes on one core. Run nothing else meanwhile.
  --quick    runs on fewer nets and clusters, which takes a minute, and writes into the build
             folder, not into the page
  --report   runs nothing, and writes tables and page from the existing figures" "$@"

build=build/default
page=bench/results/hidup.md
figures=bench/results/hidup
options=()
if [ "$quick" = yes ]; then figures="$build/bench/hidup_figures" options=(--quick); fi
mkdir -p "$figures"

if [ "$report_only" = no ]; then
  cmake --preset default
  cmake --build --preset default --target bench_hidup
  rm -f "$figures"/*.csv
  "$build/bench/hidup" --folder "$figures" "${options[@]}"
  printf '%s, CPU time on one of %s cores of %s, %s.\n' "$(LC_ALL=C date '+%d %B %Y')" "$(nproc)" \
    "$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)" \
    "$(g++ --version | head -n 1)" >"$figures/machine.txt"
fi

nets() {
  heading 'net | elements of the chain | million parameters | paper: operators | paper: million parameters'
  rows nets '{
    text = $c["net"] ~ /bert/
    printf "| %s | %s | %s + %s n | %s | %s |\n", $c["net"], $c["elements"], $c["fixed"], $c["per_gpu"],
      text ? 250 : 254, text ? "89 + 19 n" : "38 + 38 n"
  }'
}

# compared <file>: prints a table with a row for each cell (bench/hidup/cells.hpp).
compared() {
  heading "net | GPUs | Gb/s | samples | searched | turns | gap | CPU s | HiDup's search | expert parallel | data parallel | best of these / searched"
  rows "$1" '{
    best = $c["expert_parallel"] < $c["data_parallel"] ? $c["expert_parallel"] : $c["data_parallel"]
    if ($c["hidup"] < best) best = $c["hidup"]
    printf "| %s | %s x %s | %s | %s | %s | %s | %s %% | %s | %s | %s | %s | %.3f |\n", $c["net"], $c["nodes"],
      $c["gpus"], ($c["nodes"] > 1 ? $c["gbit"] : "-"), ($c["samples"] > 0 ? $c["samples"] : "as above"), $c["ours"],
      $c["turns"], $c["gap"], $c["cpu"], $c["hidup"], $c["expert_parallel"], $c["data_parallel"], best / $c["ours"]
  }'
}

breakdown() {
  heading "cluster | plan | wall | total | work | communication | overlap | longer of both | paper: system | wall | work | communication | overlap"
  rows breakdown '{
    column = $c["nodes"] == 1 ? 1 : $c["gbit"] == 100 ? 2 : 3
    if ($c["system"] == "expert parallel") {
      split("DeepSpeed 0.3988 s, 0.3531, 0.0282, 0;DeepSpeed 0.4993 s, 0.3479, 0.1347, 0;DeepSpeed 0.8251 s, 0.3469, 0.4585, 0", p, ";")
    } else if ($c["system"] == "ours") {
      split("HiDup 0.2972 s, 0.2948, 0.0297, 91.92 %;HiDup 0.3985 s, 0.3088, 0.1523, 41.10 %;HiDup 0.6657 s, 0.3021, 0.4432, 26.35 %", p, ";")
    } else { split("the same;the same;the same", p, ";") }
    split(p[column], v, ", ")
    n = split(v[1], w, " ")
    printf "| %s | %s | %s | %s | %s | %s | %s %% | %s | %s | %s | %s | %s | %s |\n",
      $c["nodes"] == 1 ? "one machine" : "two, " $c["gbit"] " Gb/s", $c["system"], $c["wall"], $c["total"], $c["work"],
      $c["communication"], $c["overlap"], $c["bound"], w[1] == "the" ? "HiDup" : w[1], w[1] == "the" ? "" : w[2], v[2], v[3], v[4]
  }'
}

memory() {
  heading "net | searched | HiDup's search | data parallel | expert parallel | paper: HiDup | DDP | Horovod | FastMoE | DeepSpeed"
  rows memory '{
    paper["bert-sgmoe"] = "6.77 | 9.87 | 8.98 | 7.63 | 8.09"
    paper["bert-switch"] = "6.34 | 9.44 | 8.55 | 7.30 | 7.80"
    paper["vit-sgmoe"] = "2.79 | 4.92 | 4.21 | 2.78 | 2.53"
    paper["vit-switch"] = "2.60 | 4.68 | 3.97 | 2.63 | 2.52"
    printf "| %s | %s | %s | %s | %s | %s |\n", $c["net"], $c["ours"], $c["hidup"], $c["data_parallel"],
      $c["expert_parallel"], paper[$c["net"]]
  }'
}

noise() {
  heading 'error | trials | mean of the relative time | worst | paper: mean'
  rows noise '{
    paper["random 20 %"] = "100.2 %"; paper["random 50 %"] = "112.9 %"
    paper["communication +20 %"] = "100.0 %"; paper["communication +50 %"] = "100.0 %"
    paper["communication -20 %"] = "100.0 %"; paper["communication -50 %"] = "117.2 %"
    printf "| %s | %s | %s %% | %s %% | %s |\n", $c["noise"], $c["trials"], $c["mean"], $c["worst"], paper[$c["noise"]]
  }'
}

placements() {
  heading 'Gb/s | plan | replicated | stored split, gathered for use | split in use | gatings | of these on whole tokens on each machine | on each GPU'
  rows placements '{
    printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", $c["gbit"], $c["system"], $c["replicated"], $c["gathered"],
      $c["split"], $c["gatings"], $c["whole_on_nodes"], $c["whole_everywhere"]
  }'
}

search_time() {
  heading "layers | GPUs | CPU s | gap | CPU s of HiDup's search"
  rows search_time '{
    printf "| %s | %s | %s | %s %% | %s |\n", $c["layers"], $c["nodes"] * $c["gpus"], $c["ours"], $c["gap"], $c["hidup"]
  }'
}

# table <word>: prints the table that takes the place of the marker named <word> in the page
# (bench/support/page.sh).
table() {
  case "$1" in
    machine) cat "$figures/machine.txt" ;;
    gpus | bandwidth | one_axis | batches) compared "$1" ;;
    *) "$1" ;;
  esac
}

write_page "$page" "$figures/page.md"
if [ "$quick" = no ]; then mv "$figures/page.md" "$page"; else page="$figures/page.md"; fi
printf 'Tables: %s\n' "$page"
