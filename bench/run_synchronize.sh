#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/autodist.md. bench/synchronize compares strategies of
# synchronization on AutoDist's models and clusters, and measures what tuning by trials learns
# there. tests/smpi/synchronize.cpp simulates a step under every strategy on clusters.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
# shellcheck disable=SC2154 # page_options sets quick and report_only.
page_options "Usage: bench/run_synchronize.sh [--quick] [--report] [-h]
Takes about five minutes on one core, and longer for the simulated clusters, which need SimGrid.
  --quick    runs one model, two clusters and 16 simulated ranks, which takes a minute, and writes
             into the build folder, not into the page
  --report   runs nothing, and writes tables and page from the existing figures
If ASHLAR_BENCH_BUILD names a build folder, its programs are used and nothing is built." "$@"

build="${ASHLAR_BENCH_BUILD:-build/default}"
page=bench/results/autodist.md
figures=bench/results/autodist
models=(vgg16 resnet101 densenet121 bert-large bert-3l ncf)
options=()
learning=(
  "--ranking --models ncf,bert-3l --clusters A2,B3,B7 --seeds 2"
  "--ranking --models vgg16 --clusters B7"
  "--transfer --models ncf --clusters B7,B3 --seeds 2"
  "--transfer --models bert-3l --clusters B7,B3"
  "--published --models vgg16 --clusters A2,B7"
  "--published --models bert-large --clusters B7"
)
simulated=(
  "a=16 bandwidth" "a=64 bandwidth" "a=16,b=16 bandwidth"
  "node=4,gpu=4 bandwidth" "node=8,gpu=8 bandwidth" "node=32,gpu=8 bandwidth"
  "node=16 bandwidth+half_bandwidth" "node=4,gpu=4 bandwidth+half_bandwidth"
  "node=8,gpu=8 bandwidth+half_bandwidth" "node=32,gpu=8 bandwidth+half_bandwidth"
  "node=4,gpu=4 flow:bandwidth"
)
if [ "$quick" = yes ]; then
  figures="$build/bench/autodist_figures"
  models=(ncf) options=(--clusters "A2,B7" --samples 20)
  learning=("--ranking --models ncf --clusters A2" "--transfer --models ncf --clusters A2,A1"
    "--published --models ncf --clusters A2")
  simulated=("a=16 bandwidth")
fi
mkdir -p "$figures"

# simulate <mesh> <machine>: simulates a step under every strategy. Keeps only lines with figures.
simulate() {
  local name="${1//,/_}_${2//[:+]/_}" status=0
  # The program divides a step into pieces, and transfers progress only between two pieces. On a
  # mesh of 64 ranks in one axis and on 256 ranks a step takes minutes to simulate, so it has fewer
  # pieces. On 8 nodes of 8 ranks and on 256 ranks the layers have more features, because with 64
  # features a transfer would be too short compared with a piece.
  local features=64 pieces=400
  case "$1" in
    *8,gpu=8*) features=256 ;;
    *64*) pieces=200 ;;
    *16,b* | *32*) features=128 pieces=100 ;;
  esac
  tests/smpi/simulate.sh --timeout 3000 "$build/tests/smpi_platform" "$1" "$2" \
    "$build/tests/smpi_synchronize" "$features" "$pieces" 1 >"$figures/$name.log" || status=$?
  # The program fails if a figure is outside its tolerance. The figures are complete even then.
  grep -q 'checks on rank 0' "$figures/$name.log" || {
    printf '%s: no figures (exit code %s)\n' "$name" "$status" >&2
    tail -n 3 "$figures/$name.log" >&2
    return 1
  }
  awk -v mesh="$1" -v machine="$2" 'NF == 5 && $4 ~ /^[0-9.]+$/ { print mesh, machine, $0 }' \
    "$figures/$name.log" >>"$figures/simulated.txt"
  rm "$figures/$name.log"
}

if [ "$report_only" = no ]; then
  if [ -z "${ASHLAR_BENCH_BUILD:-}" ]; then
    cmake --preset default
    cmake --build --preset default --target bench_synchronize
  fi
  rm -f "$figures"/*.csv
  for model in "${models[@]}"; do
    "$build/bench/synchronize" --models "$model" --folder "$figures" "${options[@]}"
  done
  for part in "${learning[@]}"; do
    # shellcheck disable=SC2086 # A part holds several options.
    "$build/bench/synchronize" $part --folder "$figures"
  done
  printf '%s, CPU time on one of %s cores of %s, %s.\n' "$(LC_ALL=C date '+%d %B %Y')" "$(nproc)" \
    "$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)" \
    "$(g++ --version | head -n 1)" >"$figures/machine.txt"
  if command -v smpirun >/dev/null 2>&1; then
    [ -n "${ASHLAR_BENCH_BUILD:-}" ] ||
      cmake --build --preset default --target smpi_platform build_smpi_synchronize
    rm -f "$figures/simulated.txt"
    for cluster in "${simulated[@]}"; do
      # shellcheck disable=SC2086 # A cluster holds a mesh and a machine.
      simulate $cluster
    done
  else
    echo "SimGrid not found: the simulated clusters keep their figures"
  fi
fi

choice() {
  heading "model | cluster | work ms | AutoDist's builders ms | which | all builders ms | which | samples ms | optimal ms | gap | speed: AutoDist's builders | all builders | samples | paper"
  rows choice '{
    paper["bert-large A2"] = "1.25"; paper["bert-large B7"] = "1.2"; paper["vgg16 B7"] = "> 1.6"
    paper["vgg16 A2"] = "1.2"; paper["ncf A2"] = paper["ncf B7"] = "1.15"
    key = $c["model"] " " $c["cluster"]
    printf "| %s | %s | %.1f | %.1f | %s, %s | %.1f | %s, %s | %.1f | %.1f | %s %% | %.3f | %.3f | %.3f | %s |\n",
      $c["model"], $c["cluster"], 1e3 * $c["work"],
      1e3 * $c["paper_seconds"], $c["paper_builder"], $c["paper_division"],
      1e3 * $c["builder_seconds"], $c["builder"], $c["division"],
      1e3 * $c["sampled"], 1e3 * $c["optimal"], $c["gap"],
      $c["paper_seconds"] / $c["optimal"], $c["builder_seconds"] / $c["optimal"],
      $c["sampled"] / $c["optimal"], key in paper ? paper[key] : ""
  }'
}

# verdict: prints for how many pairs of model and cluster a builder is faster than the strategies
# that `optimal` chooses, and for how many a random strategy (sample) is faster by more than 2 %.
verdict() {
  rows choice '{
    ++n; b = $c["optimal"] / $c["builder_seconds"]; s = $c["optimal"] / $c["sampled"]
    slower += b > 1 + 1e-9; most = most > b ? most : b; worst = worst > s ? worst : s; far += s > 1.02
    g = $c["paper_seconds"] / $c["optimal"]; sum += log(g); least = n == 1 || g < least ? g : least; top = g > top ? g : top
  } END {
    printf "In %d of %d cells a builder with some division is faster than `optimal` (at most optimal / builder = %.4f); in %d cells a sample\nis faster by more than 2 %% (at most optimal / sample = %.4f). Against the best of AutoDist'"'"'s builders, `optimal` is %.2f to %.2f times as\nfast, %.2f in the geometric mean.\n",
      slower, n, most, far, worst, least, top, exp(sum / n)
  }'
}

trials() {
  heading "model | cluster | samples faster than AutoDist's builders | than the best builder | first that beats AutoDist's builders | first within 2 % of optimal | CPU s of optimal | paper: hit rate of random samples | of its search | trials to its best"
  rows choice '{
    random["vgg16 A2"] = "60 %"; random["vgg16 B7"] = "42 %"; random["bert-large A2"] = "10 %"; random["bert-large B7"] = "30 %"
    full["vgg16 A2"] = "70 %"; full["vgg16 B7"] = full["bert-large A2"] = full["bert-large B7"] = "> 80 %"
    best["vgg16 A2"] = best["vgg16 B7"] = "20 (1.2, 1.5 times)"; best["bert-large A2"] = "50"; best["bert-large B7"] = "30"
    key = $c["model"] " " $c["cluster"]
    printf "| %s | %s | %s %% | %s %% | %s | %s | %s | %s | %s | %s |\n", $c["model"], $c["cluster"], $c["hits_paper"],
      $c["hits_best"], $c["first_hit"], $c["first_within_2"], $c["cpu"], random[key], full[key], best[key]
  }'
}

# progress: prints a plot made of text. The length of a bar is the speed of a strategy relative to
# the best of AutoDist's builders. A bar of 40 characters means equal speed.
progress() {
  awk -F, -v choices="$figures/choice.csv" '
    BEGIN {
      while ((getline line < choices) > 0) {
        n = split(line, f, ",")
        if (f[1] != "model") { paper[f[1] " " f[2]] = f[6]; optimal[f[1] " " f[2]] = f[11] }
      }
    }
    function bar(speed,   text, k) {
      for (k = 0; k < 40 * speed && k < 80; ++k) text = text "#"
      return text
    }
    NR > 1 && ($2 == "A2" || $2 == "B7") && ($1 == "vgg16" || $1 == "bert-large" || $1 == "ncf") {
      key = $1 " " $2
      if (key != last) {
        if (last != "") print ""
        printf "%s on %s\n  builders    1.00  %s\n  optimal     %.2f  %s\n", $1, $2, bar(1), paper[key] / optimal[key],
          bar(paper[key] / optimal[key])
      }
      last = key
      printf "  %3d samples %.2f  %s\n", $3, paper[key] / $4, bar(paper[key] / $4)
    }' "$figures/progress.csv" | { echo '```text'; cat; echo '```'; }
}

builders() {
  heading "model | cluster | all-reduce | servers | servers with copies | partitioned servers | ZeRO-1 | best hybrid"
  rows builders '{
    key = $c["model"] " | " $c["cluster"]
    if (!(key in seen)) { seen[key] = 1; order[++n] = key }
    name = $c["builder"]
    if (name ~ /^hybrid/) { name = "hybrid"; if ((key, name) in ms && ms[key, name] < $c["seconds"]) next }
    ms[key, name] = $c["seconds"]
  } END {
    k = split("all-reduce,servers,servers with copies,partitioned servers,ZeRO-1,hybrid", names, ",")
    for (i = 1; i <= n; ++i) {
      printf "| %s |", order[i]
      for (j = 1; j <= k; ++j) printf " %s |", (order[i], names[j]) in ms ? sprintf("%.1f", 1e3 * ms[order[i], names[j]]) : ""
      print ""
    }
  }'
}

chunks() {
  heading "all-reduces, ms: model | cluster | none | chunk 8 | chunk 32 | chunk 64 | chunk 128 | chunk 512 | 1 MiB | 16 MiB | DDP | 64 MiB | all in one | the best"
  rows chunks '$c["cluster"] == "A2" || $c["cluster"] == "B7" || $c["cluster"] == "B8" {
    key = $c["model"] " | " $c["cluster"]
    if (!(key in seen)) { seen[key] = 1; order[++n] = key }
    division = $c["division"]; sub(/:.*/, "", division)
    ms[key, division] = 1e3 * $c["seconds"]
  } END {
    k = split("none,chunk 8,chunk 32,chunk 64,chunk 128,chunk 512,1 MiB,16 MiB,DDP,64 MiB,all in one,the best", names, ",")
    for (i = 1; i <= n; ++i) {
      printf "| %s |", order[i]
      for (j = 1; j <= k; ++j) printf " %.1f |", ms[order[i], names[j]]
      print ""
    }
  }'
}

strategies() {
  heading "model | cluster | strategies that optimal has chosen: share of the elements (number of parameters)"
  rows strategies '{
    key = $c["model"] " | " $c["cluster"]
    if (!(key in text)) order[++n] = key
    text[key] = text[key] (text[key] == "" ? "" : "; ") $c["strategy"] ": " $c["share"] " % (" $c["parameters"] ")"
  } END { for (i = 1; i <= n; ++i) printf "| %s | %s |\n", order[i], text[order[i]] }'
}

routes() {
  heading "model | cluster | largest parameter | its gradient | its value"
  rows routes '{ printf "| %s | %s | %s | %s | %s |\n", $c["model"], $c["cluster"], $c["strategy"], $c["gradient"], $c["back"] }'
}

ranking() {
  heading "model | cluster | wires | draw of the factors | strategies | pairs | predicted right | corrected right | optimal ms | tuned ms"
  rows ranking '{ printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", $c["model"], $c["cluster"], $c["wires"], $c["seed"],
    $c["near"], $c["pairs"], ($c["pairs"] > 0 ? $c["prediction"] " %" : ""), ($c["pairs"] > 0 ? $c["corrected"] " %" : ""), $c["optimal_ms"],
    $c["tuned_ms"] }'
}

# ranking_verdict: prints how often the predicted and the corrected ranking order a pair of
# strategies right, and how fast the fastest trial is relative to `optimal`.
ranking_verdict() {
  rows ranking '$c["pairs"] > 0 {
    ++n; pairs += $c["pairs"]; before += $c["pairs"] * $c["prediction"]; after += $c["pairs"] * $c["corrected"]
    low += $c["corrected"] < 85; worse += $c["corrected"] < $c["prediction"]
    loss = $c["prediction"] - $c["corrected"]; most = loss > most ? loss : most
    g = $c["optimal_ms"] / $c["tuned_ms"]; top = g > top ? g : top; slow += g < 0.9999
    least = n == 1 || g < least ? g : least
  } END {
    printf "After 20 trials, %.1f %% of all pairs are in the right order, and %.1f %% by the prediction. The corrected ranking is below 85 %% in %d of\n%d cases, and below the prediction in %d of them, by at most %.1f percentage points. The fastest trial is up to %.3f times as fast as\n`optimal`; noise made it slower in %d cases (%.3f). All rows rest on two draws of the factors.\n",
      after / pairs, before / pairs, low, n, worse, most, top, slow, least
  }'
}

transfer() {
  heading "model | from | to | factors | seed | pairs | prediction | file alone | 20 trials | 20 with the file | 100 trials"
  rows transfer '{ printf "| %s | %s | %s | %s | %s | %s | %s %% | %s %% | %s %% | %s %% | %s %% |\n", $c["model"], $c["from"], $c["to"], $c["factors"],
    $c["seed"], $c["pairs"], $c["prediction"], $c["started_0"], $c["twenty"], $c["started_20"], $c["hundred"] }'
}

published() {
  heading "model | cluster | method | trials | best ms | optimal ms | best / optimal | first trial within 3 %"
  rows published '{ printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", $c["model"], $c["cluster"], $c["method"], $c["trials"], $c["best_ms"],
    $c["optimal_ms"], $c["ratio"], $c["first_within_3"] }'
}

simulated() {
  heading "mesh | machine | strategy | timeline µs | SMPI µs | SMPI / timeline | exposed µs"
  [ -s "$figures/simulated.txt" ] || { echo "| not run yet | | | | | | |"; return; }
  awk '{ printf "| %s | %s | %s | %.1f | %.1f | %s | %.1f |\n", $1, $2, $3, $4, $5, $6, $7 }' "$figures/simulated.txt"
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
